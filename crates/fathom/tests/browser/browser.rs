//! A Chromium of our own, driven over its pipe (`--remote-debugging-pipe`): JSON messages that end in a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine;
use serde_json::{Value, json};
use skips::{Capability, skip};

/// A browser that does not answer for so long is broken; nothing is measured with it.
const PATIENCE: Duration = Duration::from_secs(600);

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// A browser with one page, and what that page did.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    next_id: u64,
    /// Events of the page since it was last opened.
    pub(crate) events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// The program, when there is one.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FATHOM_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    let places = NAMES.iter().flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)));
    places.into_iter().find(|place| place.is_file())
}

impl Browser {
    /// Starts a browser; `None`, as a skip that is counted, where there is none.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            skip(Capability::Chromium, "no Chromium in PATH (apt-get install chromium)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The shell gives the browser its pipe as descriptors 3 and 4, which a child of ours cannot have otherwise.
        let script = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-extensions", "--hide-scrollbars"])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
                bytes.pop();
                let Ok(message) = serde_json::from_slice(&bytes) else { break };
                if sender.send(message).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        let input = child.stdin.take().unwrap();
        let mut browser = Self {
            child,
            input,
            messages,
            session: String::new(),
            next_id: 1,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            browser.ask("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        self.input.flush().unwrap();
        loop {
            let message = self.message(method);
            if message["id"] == json!(id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn message(&self, waiting_for: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("the browser says nothing more; waited for {waiting_for}"))
    }

    /// Opens a file and waits until it has loaded.
    pub(crate) fn open(&mut self, file: &Path) {
        self.open_address(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it has loaded.
    pub(crate) fn open_address(&mut self, address: &str) {
        self.events.clear();
        self.ask("Page.navigate", json!({"url": address}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.message("Page.loadEventFired");
            self.events.push(message);
        }
    }

    /// From now on the window is that of a phone.
    pub(crate) fn phone(&mut self) {
        let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
        self.ask("Emulation.setDeviceMetricsOverride", phone);
    }

    /// Number of A4 pages of the open page in print.
    pub(crate) fn printed_pages(&mut self) -> usize {
        let a4 = json!({"paperWidth": 8.27, "paperHeight": 11.69, "marginTop": 0.4, "marginBottom": 0.4});
        let printed = self.ask("Page.printToPDF", a4);
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        // EVIDENCE: ISO 32000-1 7.7.3.3: every page is an object of type Page; those of type Pages are its parents.
        text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
    }

    /// Value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Moves the pointer to a place in the window.
    pub(crate) fn point_at(&mut self, x: f64, y: f64) {
        self.ask("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
    }

    /// Presses a key and lets it go.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        self.ask("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": key, "text": text}));
        self.ask("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    /// What the page asked of any network or disk, but for itself, and what went wrong in it.
    pub(crate) fn misdeeds(&self, page: &Path) -> Vec<String> {
        let own = format!("file://{}", page.display());
        let of_event = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or("") {
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().unwrap_or("").to_owned();
                    (url != own && !url.starts_with("data:")).then(|| format!("request {url}"))
                }
                "Runtime.exceptionThrown" => Some(format!("exception {}", parameters["exceptionDetails"])),
                "Runtime.consoleAPICalled" => Some(format!("console {}", parameters["args"])),
                "Log.entryAdded" => Some(format!("log {}", parameters["entry"]["text"])),
                _ => None,
            }
        };
        self.events.iter().filter_map(of_event).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children go with it: their pipes to it close.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
