//! What providers are strict about: a server that refuses all that they would is asked.

use haft_llm::{ModelAnswer, ModelRequest};
use haft_testkit::{AskedModel, Dialect, ModelReply, ModelServer};

use crate::support::{ask, conversation, wire_at};

/// What a strict server of a dialect got to see. One that refuses makes the test fail.
async fn taken(dialect: Dialect, request: &ModelRequest) -> AskedModel {
    let server = ModelServer::script([ModelReply::says("Well.")]).await;
    let answer: Result<ModelAnswer, _> = ask(&wire_at(dialect, &server), request).await;
    assert_eq!(server.refused(), Vec::<String>::new(), "{dialect:?}");
    answer.expect("an answer");
    server.seen().pop().expect("a question")
}

#[tokio::test]
async fn a_temperature_is_no_higher_than_can_be_taken() {
    for (wanted, sent) in [(1.7, 1.0), (1.0, 1.0), (0.2, 0.2)] {
        let request = ModelRequest { temperature: Some(wanted), ..conversation() };
        assert_eq!(taken(Dialect::Anthropic, &request).await.temperature, Some(sent));
        assert_eq!(taken(Dialect::Openai, &request).await.temperature, Some(wanted));
    }
}

#[tokio::test]
async fn an_answer_of_no_tokens_is_asked_of_nobody() {
    let request = ModelRequest { max_tokens: Some(0), ..conversation() };
    for dialect in Dialect::ALL {
        let usual = (dialect == Dialect::Anthropic).then_some(8_192);
        assert_eq!(taken(dialect, &request).await.max_tokens, usual, "{dialect:?}");
    }
}
