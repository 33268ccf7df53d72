//! How families are written: labels with what must be escaped, and the usual two kinds.

use std::fmt::{self, Write};

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelValue, LabelValueEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

/// The value of a label. The library writes values as they are, and one may hold anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl EncodeLabelValue for Quoted<'_> {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        for piece in self.0.split_inclusive(['\\', '"', '\n']) {
            let plain = piece.trim_end_matches(['\\', '"', '\n']);
            encoder.write_str(plain)?;
            match piece.as_bytes().get(plain.len()) {
                Some(b'\n') => encoder.write_str("\\n")?,
                Some(b'"') => encoder.write_str("\\\"")?,
                Some(_) => encoder.write_str("\\\\")?,
                None => {}
            }
        }
        Ok(())
    }
}

pub(super) type Labels<'a, const N: usize> = [(&'static str, Quoted<'a>); N];

/// A family of counters. The format puts `_total` behind its name.
pub(super) fn counter<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (Labels<'a, N>, u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, count) in samples {
        // Not `{}` where there is no label.
        if N == 0 {
            family.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        } else {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}

/// One gauge without labels.
pub(super) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: impl EncodeGaugeValue,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[derive(Debug)]
    struct Written(&'static str);

    impl prometheus_client::collector::Collector for Written {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            counter(&mut encoder, "c", "C.", [([("l", Quoted(self.0))], 1)])
        }
    }

    #[test]
    fn a_value_cannot_end_its_label() {
        for (value, written) in [
            ("", ""),
            ("plain 汉字 {}", "plain 汉字 {}"),
            ("a\"} 1\nb", "a\\\"} 1\\nb"),
            ("\\", "\\\\"),
            ("\\n\n\n\"\"", "\\\\n\\n\\n\\\"\\\""),
        ] {
            let mut registry = Registry::default();
            registry.register_collector(Box::new(Written(value)));
            let mut page = String::new();
            encode(&mut page, &registry).expect("written");
            let expected = format!("# HELP c C.\n# TYPE c counter\nc_total{{l=\"{written}\"}} 1\n# EOF\n");
            assert_eq!(page, expected, "{value:?}");
        }
    }
}
