//! Event log (§2) and basics (§1).

use serde_json::json;

use crate::story::{Story, calls, text};

#[test]
fn a_plain_turn_with_one_worker_tool_writes_this_order_e11() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [{"type": "tool.result", "result": {"content": [{"type": "text", "text": "seen"}]}}]}));
    story.settles_down();
    story.replies(text("Done."));
    story.settles_down();
    story.expect(&[]);
}
