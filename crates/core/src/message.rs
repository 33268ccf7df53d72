//! Messages as data: an id and parameters, rendered only by interfaces.
//!
//! Each crate declares its own [`Template`]s next to the code that uses them. There is no I/O and no global
//! registry here.

use std::fmt::{self, Write as _};

use crate::Locale;

/// A message in every supported language. `{name}` marks a parameter.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    /// Stable: clients and translations may depend on it.
    pub id: &'static str,
    pub en: &'static str,
    pub zh: &'static str,
}

impl Template {
    pub const fn new(id: &'static str, en: &'static str, zh: &'static str) -> Self {
        Self { id, en, zh }
    }

    fn text(&self, locale: Locale) -> &'static str {
        match locale {
            Locale::En => self.en,
            Locale::Zh => self.zh,
        }
    }
}

/// Declares a module's templates, and their list `TEMPLATES`.
#[macro_export]
macro_rules! templates {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $en:literal, $zh:literal;)*) => {
        $($(#[$doc])* pub(crate) static $name: $crate::Template = $crate::Template::new($id, $en, $zh);)*
        pub(crate) static TEMPLATES: &[&$crate::Template] = &[$(&$name),*];
    };
}

templates! {
    // Foreign texts that are passed on unchanged.
    VERBATIM = "verbatim", "{text}", "{text}";
}

/// A template with its parameters filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    template: &'static Template,
    params: Vec<(&'static str, Param)>,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
enum Param {
    Text(String),
    /// Nested messages, rendered in the same language and joined with `, `.
    Messages(Vec<Message>),
}

impl Message {
    /// Removes the values of one parameter, including nested ones: they may contain a secret.
    #[must_use]
    pub fn hiding(mut self, name: &str) -> Self {
        for (known, param) in &mut self.params {
            match param {
                Param::Messages(messages) => {
                    let hidden = std::mem::take(messages).into_iter().map(|message| message.hiding(name));
                    *messages = hidden.collect();
                }
                Param::Text(text) if *known == name => *text = "…".to_owned(),
                Param::Text(_) => {}
            }
        }
        self
    }

    pub fn new(template: &'static Template) -> Self {
        Self { template, params: Vec::new() }
    }

    /// Creates a message from a foreign text: the error of a native tool or an upstream.
    pub fn verbatim(text: impl Into<String>) -> Self {
        Self::new(&VERBATIM).with("text", text.into())
    }

    /// Fills in one parameter.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.params.push((name, Param::Text(value.to_string())));
        self
    }

    /// Fills in one parameter with messages, which are translated too.
    #[must_use]
    pub fn with_messages(mut self, name: &'static str, messages: Vec<Message>) -> Self {
        self.params.push((name, Param::Messages(messages)));
        self
    }

    /// Applies `clean` to every text of the message.
    #[must_use]
    pub(crate) fn cleaned(self, clean: &dyn Fn(&str) -> String) -> Self {
        let params = self.params.into_iter().map(|(name, param)| {
            let param = match param {
                Param::Text(text) => Param::Text(clean(&text)),
                Param::Messages(messages) => {
                    Param::Messages(messages.into_iter().map(|message| message.cleaned(clean)).collect())
                }
            };
            (name, param)
        });
        Self { template: self.template, params: params.collect() }
    }

    pub fn id(&self) -> &'static str {
        self.template.id
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        let params = self.params.iter().map(|(_, param)| match param {
            Param::Text(text) => text.len(),
            Param::Messages(messages) => messages.iter().map(Self::weight).sum(),
        });
        size_of::<Self>() + self.params.len() * size_of::<(&str, Param)>() + params.sum::<usize>()
    }

    /// Renders the message as text.
    pub fn render(&self, locale: Locale) -> String {
        let mut words = String::new();
        self.render_into(&mut words, locale);
        words
    }

    fn render_into(&self, words: &mut String, locale: Locale) {
        let mut rest = self.template.text(locale);
        while let Some((before, after)) = rest.split_once('{') {
            words.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            match self.params.iter().find(|(known, _)| *known == name) {
                Some((_, Param::Text(text))) => words.push_str(text),
                Some((_, Param::Messages(messages))) => {
                    for (index, message) in messages.iter().enumerate() {
                        if index > 0 {
                            words.push_str(", ");
                        }
                        message.render_into(words, locale);
                    }
                }
                // A parameter that was not filled in is shown literally.
                None => {
                    let _ = write!(words, "{{{name}}}");
                }
            }
            rest = after;
        }
        words.push_str(rest);
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Locale::En))
    }
}

/// Ids of texts that clients match on, which are in English in every language.
const UNTRANSLATED: [&str; 6] = [
    "webSearch.noTavily",
    "webSearch.noSearxng",
    "webSearch.noBrave",
    "webSearch.tavilyFailed",
    "webSearch.searxngFailed",
    "webSearch.braveFailed",
];

/// Fails if a template lacks a language, is not translated, or has different parameters in its languages.
/// Each crate calls it in a test of the templates that it declares.
pub fn check_templates(templates: &[&Template]) -> Result<(), String> {
    let mut ids = std::collections::HashSet::new();
    for template in templates {
        let Template { id, en, zh } = template;
        if !ids.insert(id) {
            return Err(format!("{id}: used twice"));
        }
        if en.is_empty() || zh.is_empty() {
            return Err(format!("{id}: a language is missing"));
        }
        if parameters(en) != parameters(zh) {
            return Err(format!("{id}: the languages name different parameters"));
        }
        if contains_text(en) && !zh.chars().any(is_chinese) && !UNTRANSLATED.contains(id) {
            return Err(format!("{id}: the Chinese text holds no Chinese character"));
        }
    }
    Ok(())
}

/// Returns true if a text has letters outside its parameters.
fn contains_text(text: &str) -> bool {
    let mut between = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    between.any(|part| part.contains(char::is_alphabetic))
}

fn is_chinese(character: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&character)
}

fn parameters(text: &str) -> std::collections::BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static GREETING: Template = Template::new("greeting", "Hello {name}: {all}", "{all}：{name}你好");

    #[test]
    fn renders_parameters_in_both_languages_and_nested() {
        let message = Message::new(&GREETING).with("name", "Ada").with_messages(
            "all",
            vec![Message::verbatim("a {name}"), Message::new(&GREETING).with("name", 1)],
        );
        assert_eq!(message.render(Locale::En), "Hello Ada: a {name}, Hello 1: {all}");
        assert_eq!(message.render(Locale::Zh), "a {name}, {all}：1你好：Ada你好");
    }

    #[test]
    fn parameters_are_never_expanded_again() {
        let message = Message::new(&GREETING).with("name", "{all}").with("all", "x");
        assert_eq!(message.to_string(), "Hello {all}: x");
    }

    #[test]
    fn a_template_with_other_parameters_in_one_language_is_found() {
        static MISMATCHED: Template = Template::new("mismatched", "{a}", "{b}");
        assert!(check_templates(&[&GREETING]).is_ok());
        assert!(check_templates(&[&MISMATCHED]).is_err());
        assert!(check_templates(&[&GREETING, &GREETING]).is_err());
    }

    #[test]
    fn an_untranslated_template_is_found() {
        static ENGLISH: Template = Template::new("english", "Not allowed: {host}", "Not allowed: {host}");
        static NO_TEXT: Template = Template::new("noWords", "{path}: {message}", "{path}: {message}");
        let found = check_templates(&[&ENGLISH]).expect_err("it is not translated");
        assert_eq!(found, "english: the Chinese text holds no Chinese character");
        assert!(check_templates(&[&NO_TEXT]).is_ok(), "parameters alone need no translation");
    }
}
