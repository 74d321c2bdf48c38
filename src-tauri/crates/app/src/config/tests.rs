use std::path::Path;

use super::*;

fn parsed(text: &str) -> Result<Config, ConfigError> {
    parse(Path::new("/project/holdpoint.toml"), text.to_owned())
}

fn complaint(text: &str) -> String {
    parsed(text).map_or_else(|error| error.to_string(), |_| "no complaint".to_owned())
}

const MODEL: &str = "[llm.main]\ntype = \"scripted\"\nscript = \"s.json\"\n";

const AGENT: &str = "[llm.main]\ntype = \"scripted\"\nscript = \"s.json\"\n[agent.a]\nllm = \"main\"\nmodel = \"m\"\n";
const SERVER: &str = "[mcp.one]\ncommand = [\"node\", \"server.js\"]\n";

#[test]
fn a_whole_file_reads_into_settings_f3() -> Result<(), ConfigError> {
    let config = parsed(
        r#"
name = "support"
db = "data/hp.db"
log = "debug"
[llm.main]
type = "openai"
base_url = "http://127.0.0.1:11434/v1"
[worker.w]
file = "w.mjs"
memory_mb = 32
[agent.support]
llm = "main"
model = "m1"
worker = "w"
effort = "low"
retry.llm = { max_attempts = 2, backoff_max_secs = 0 }
tools = [{ name = "pick", handler = "client", input = { type = "object" } }]
[agent.only_worker]
worker = "w"
[serve]
port = 0
auth = false
"#,
    )?;
    assert_eq!(config.db.as_deref(), Some(Path::new("/project/data/hp.db")), "F-1: relative to the file");
    assert_eq!(config.log, LogLevel::Debug);
    assert_eq!(config.workers["w"].target, WorkerTarget::File("/project/w.mjs".into()));
    assert_eq!((config.workers["w"].cpu_ms, config.workers["w"].memory_mb), (1000, 32), "P-29 defaults");
    assert_eq!(config.serve, Serve { host: "127.0.0.1".into(), port: 0, auth: false, public_url: None });
    let own = config.engine.agents["support"].config.as_ref().expect("it sets a model");
    assert_eq!((own.model.as_str(), own.llm.as_deref(), own.effort), ("m1", Some("main"), Some(Effort::Low)));
    let llm = own.retry.as_ref().and_then(|retry| retry.llm.as_ref()).expect("retry.llm is set");
    assert_eq!((llm.max_attempts, llm.backoff_max_secs), (Some(2), Some(0.0)), "Q-46");
    assert!(config.engine.agents["only_worker"].config.is_none(), "F-5: its worker may configure it");
    assert_eq!(config.engine.max_subagent_depth, 5);
    Ok(())
}

#[test]
fn a_wrong_key_is_named_with_path_line_and_nearest_key_f2() {
    for (text, wanted) in [
        ("nmae = \"x\"\n".to_owned(), "/project/holdpoint.toml:1: nmae: unknown key; did you mean `name`?"),
        (
            format!("{MODEL}[agent.a]\nllm = \"main\"\nmodle = \"m\"\n"),
            "/project/holdpoint.toml:6: agent.a.modle: unknown key; did you mean `model`?",
        ),
        (
            format!("{MODEL}[agent.a]\nllm = \"main\"\nmodel = \"m\"\nretry = {{ llm = {{ max_atempts = 1 }} }}\n"),
            "/project/holdpoint.toml:7: agent.a.retry.llm.max_atempts: unknown key; did you mean `max_attempts`?",
        ),
        (
            format!("{MODEL}[agent.a]\nllm = \"main\"\nmodel = \"m\"\n[[agent.a.tools]]\nname = \"t\"\nhandlr = \"client\"\n"),
            "/project/holdpoint.toml:9: agent.a.tools[0].handlr: unknown key; did you mean `handler`?",
        ),
        ("[serv]\nport = 1\n".to_owned(), "/project/holdpoint.toml:1: serv: unknown key; did you mean `serve`?"),
        (
            "[mcp.x]\nurl = \"https://x\"\nscope = []\n".to_owned(),
            "/project/holdpoint.toml:3: mcp.x.scope: unknown key; did you mean `scopes`?",
        ),
    ] {
        assert_eq!(complaint(&text), wanted, "{text}");
    }
}

#[test]
fn a_secret_is_sent_elsewhere_and_never_shown_f2_q52() {
    for (text, advice) in [
        ("[llm.main]\ntype = \"openai\"\napi_key = \"sk-123\"\n", "`api_key_env`"),
        ("[llm.main]\ntype = \"openai\"\nkey = \"sk-123\"\n", "`api_key_env`"),
        ("[worker.w]\nurl = \"http://x\"\nsecret = \"sk-123\"\n", "`signing_secret_env`"),
        ("[mcp.files]\nurl = \"http://x\"\ntoken = \"sk-123\"\n", "HOLDPOINT_MCP_TOKEN_FILES"),
        ("[mcp.files]\nurl = \"http://x\"\nclient_secret = \"sk-123\"\n", "`client_secret_env`"),
        ("[llm.main]\ntype = \"openai\"\napi_key_env = \"sk-123\"\n", "name of an environment variable"),
        ("[llm.main]\ntype = \"openai\"\napi_key_env = \"sk-123\nx\"\n", "not valid TOML"),
        ("api_token = \"sk-123\"\n", "`*_env`"),
    ] {
        let said = complaint(text);
        assert!(said.contains(advice), "{said} should point to {advice}");
        assert!(!said.contains("sk-123"), "Q-52: {said}");
    }
}

#[test]
fn a_wrong_value_is_an_error_at_its_key() {
    for (text, wanted) in [
        ("log = \"inf\"\n".to_owned(), ":1: log: must be one of \"error\", \"warn\", \"info\", \"debug\"; did you mean \"info\"?"),
        ("[serve]\nport = \"80\"\n".to_owned(), ":2: serve.port: must be a whole number, not a string"),
        ("[serve]\nport = 70000\n".to_owned(), ":2: serve.port: must be between 0 and 65535"),
        ("[llm.main]\nscript = \"x\"\n".to_owned(), ":1: llm.main.type: is missing; it is one of"),
        ("[llm.main]\ntype = \"scripted\"\n".to_owned(), ":1: llm.main.script: is missing"),
        ("[llm.main]\ntype = \"openai\"\nscript = \"x\"\n".to_owned(), ":3: llm.main.script: does not go with this type of model"),
        ("[worker.w]\nurl = \"http://x\"\nfile = \"y\"\n".to_owned(), ":1: worker.w: needs exactly one of `url` and `file`"),
        (format!("{MODEL}[agent.a]\nllm = \"mian\"\nmodel = \"m\"\n"), ":5: agent.a.llm: there is no [llm.mian]; did you mean \"main\"?"),
        (format!("{MODEL}[agent.a]\nllm = \"llm.main\"\nmodel = \"m\"\n"), ":5: agent.a.llm: write the bare id \"main\" (Q-30)"),
        (format!("{MODEL}[agent.a]\nllm = \"main\"\n"), ":4: agent.a.model: is missing; an agent that sets `llm` needs `llm` and `model`"),
        (format!("{MODEL}[agent.a]\nsystem = \"be kind\"\n"), ":4: agent.a.llm: is missing; an agent that sets `system` needs"),
        ("[agent.a]\ndescription = \"x\"\n".to_owned(), ":1: agent.a: needs `llm` and `model`, or a `worker`"),
        (format!("{MODEL}[agent.a]\nllm = \"main\"\nmodel = \"m\"\nmcp = [\"mcp.x\"]\n"), ":7: agent.a.mcp: there is no [mcp.x]"),
        (format!("{AGENT}plugins = [\"plugin.x\"]\n"), ":7: agent.a.plugins: there is no [plugin.x]"),
        (format!("{AGENT}mcp = [\"one\"]\n{SERVER}"), ":7: agent.a.mcp: write the path \"mcp.one\" (Q-30)"),
        (format!("{AGENT}mcp = [\"mcp.oen\"]\n{SERVER}"), ":7: agent.a.mcp: there is no [mcp.oen]; did you mean \"mcp.one\"?"),
        (format!("{AGENT}mcp = [\"mcp.one\", {{ id = \"mcp.one\" }}]\n{SERVER}"), ":7: agent.a.mcp: names \"mcp.one\" twice"),
        (
            format!("{AGENT}mcp = [{{ id = \"mcp.one\", aprove = \"always\" }}]\n{SERVER}"),
            "unknown key `aprove` in an entry; did you mean `approve`?",
        ),
        (format!("{AGENT}mcp = [{{ id = \"mcp.one\", approve = \"maybe\" }}]\n{SERVER}"), ":7: agent.a.mcp: an entry is not right"),
        (format!("{AGENT}mcp = [{{ id = \"mcp.one\", auth_failure = \"wait\" }}]\n{SERVER}"), ":7: agent.a.mcp: an entry is not right"),
        (
            format!("{AGENT}defer_tools = true\n[[agent.a.tools]]\nname = \"call_tool\"\nhandler = \"client\"\n"),
            ":4: agent.a: `call_tool` is the engine's own tool while tools are deferred; give yours another name",
        ),
        (format!("{AGENT}subagents = [{{ id = \"agent.a\", defer = 1 }}]\n"), ":7: agent.a.subagents: defer is true or false"),
        (format!("{AGENT}subagent_tools = {{ wait = \"yes\" }}\n"), ":7: agent.a.subagent_tools.wait: must be true or false"),
        (
            format!(
                "{AGENT}subagents = [\"agent.a\"]\nsubagent_tools = {{ wait = true }}\n[[agent.a.tools]]\nname = \"subagent_wait\"\nhandler = \"client\"\n"
            ),
            ":8: agent.a.subagent_tools: `subagent_wait` is the engine's own tool with wait = true; give yours another name",
        ),
        ("[mcp.one]\n".to_owned(), ":1: mcp.one: needs exactly one of `url` and `command`"),
        ("[mcp.one]\ncommand = [\"x\"]\nauth = \"none\"\n".to_owned(), ":3: mcp.one.auth: does not go with `command`"),
        (
            "[mcp.one]\nurl = \"https://x\"\nauth = \"none\"\nscopes = [\"a\"]\n".to_owned(),
            ":4: mcp.one.scopes: goes only with OAuth: auth = \"oauth\", or no `auth`",
        ),
        ("[mcp.one]\nurl = \"https://x\"\nheader = \"X-Key\"\n".to_owned(), ":3: mcp.one.header: goes only with auth = \"token\""),
        ("[mcp.one]\ncommand = []\n".to_owned(), ":2: mcp.one.command: must not be empty"),
        (
            "[llm.w]\ntype = \"worker\"\n[agent.a]\nllm = \"w\"\nmodel = \"m\"\n".to_owned(),
            ":4: agent.a.llm: names a model that the agent's worker",
        ),
        ("[budget]\nsession_usd = \"0\"\n".to_owned(), ":2: budget.session_usd: is an amount in US dollars above 0"),
        ("[agent.\"a b\"]\nworker = \"w\"\n".to_owned(), ":1: agent.a b: an id has 1 to 64"),
    ] {
        let said = complaint(&text);
        assert!(said.contains(wanted), "said {said:?}, wanted {wanted:?}");
    }
}

#[test]
fn what_an_agent_defers_reaches_its_config_k10() -> Result<(), ConfigError> {
    let config = parsed(&format!(
        "{AGENT}defer_tools = {{ strategy = \"search\", max_matches = 7 }}\nmcp = [{{ id = \"mcp.one\", tools = {{ defer = false }} }}]\n\
         subagents = [{{ id = \"agent.a\", defer = false }}]\n{SERVER}"
    ))?;
    let own = config.engine.agents["a"].config.as_ref().expect("it sets a model");
    assert_eq!(own.other["defer_tools"], serde_json::json!({"strategy": "search", "max_matches": 7}));
    assert_eq!(holdpoint_core::connector::entries(own)[0].tools.defer, Some(false));
    assert_eq!(holdpoint_core::delegate::delegates(own)[0].defer, Some(false));
    Ok(())
}

#[test]
fn without_a_file_the_error_names_the_path_looked_for_q63() {
    let error = find(None, Path::new("/nowhere")).map(|_| ()).expect_err("there is no such folder");
    assert!(error.to_string().starts_with("/nowhere/holdpoint.toml: there is no such file"), "{error}");
}

#[test]
fn a_worker_has_an_address_or_a_file_and_never_both_p24() {
    let target = |keys: &str| parsed(&format!("[worker.w]\n{keys}")).map(|config| config.workers["w"].target.clone());
    assert_eq!(target("url = \"http://127.0.0.1:9/\"\n").ok(), Some(WorkerTarget::Url("http://127.0.0.1:9/".into())));
    assert_eq!(target("file = \"w.js\"\n").ok(), Some(WorkerTarget::File("/project/w.js".into())));
    for keys in ["", "url = \"http://127.0.0.1:9/\"\nfile = \"w.js\"\n", "cpu_ms = 5\n"] {
        assert!(complaint(&format!("[worker.w]\n{keys}")).contains("worker.w: needs exactly one of `url` and `file`"), "{keys}");
    }
}
