//! A real headless Chromium, driven over its DevTools protocol: open a page, run scripts in it, move
//! the mouse, take pictures, and hear every console message and every request.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
];

pub struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    next: u64,
    session: String,
    /// Kept so that the folder lives as long as the browser.
    _profile: tempfile::TempDir,
    /// Console errors and warnings, exceptions, refused scripts.
    pub complaints: Vec<String>,
    /// Addresses asked for, data and blob addresses left out.
    pub requests: Vec<String>,
}

/// The browser, or `None` (with a notice) where the user asked for no browser tests.
pub fn start() -> Option<Browser> {
    if std::env::var_os("MARY_SKIP_BROWSER").is_some_and(|v| v == "1") {
        mary_testkit::skip(mary_testkit::Lacking::Browser, "MARY_SKIP_BROWSER is 1");
        return None;
    }
    Some(Browser::launch())
}

fn binary() -> String {
    let named = std::env::var("MARY_CHROMIUM").ok();
    let candidates =
        named
            .iter()
            .map(String::as_str)
            .chain(["chromium", "chromium-browser", "google-chrome"]);
    for name in candidates {
        if Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok()
        {
            return name.to_owned();
        }
    }
    panic!(
        "no Chromium found: install it (apt-get install -y chromium), name one in MARY_CHROMIUM, or set MARY_SKIP_BROWSER=1"
    );
}

impl Browser {
    fn launch() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new(binary())
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let port_file = profile.path().join("DevToolsActivePort");
        let begun = Instant::now();
        let (port, path) = loop {
            if let Ok(text) = std::fs::read_to_string(&port_file)
                && let Some((port, path)) = text.split_once('\n')
                && !path.trim().is_empty()
            {
                break (port.trim().to_owned(), path.trim().to_owned());
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "Chromium did not open its port in 60 s"
            );
            std::thread::sleep(Duration::from_millis(50));
        };
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let config = tungstenite::protocol::WebSocketConfig::default()
            .max_message_size(Some(256 << 20))
            .max_frame_size(Some(256 << 20));
        let address = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) =
            tungstenite::client::client_with_config(address, stream, Some(config)).unwrap();
        let mut browser = Self {
            child,
            socket,
            next: 0,
            session: String::new(),
            _profile: profile,
            complaints: vec![],
            requests: vec![],
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let id = target["targetId"].clone();
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": id, "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1280, 900, false);
        browser
    }

    /// Calls a method and waits for its result; events on the way are noted.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params.clone()});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == json!(id) {
                // A page that looks for news may reload under the question; it is asked again.
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                if message.contains("navigated or closed") {
                    std::thread::sleep(Duration::from_millis(100));
                    return self.call(method, params);
                }
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("Chromium answers") {
                let value: Value = serde_json::from_str(&text).unwrap();
                self.note(&value);
                return value;
            }
        }
    }

    fn note(&mut self, event: &Value) {
        let p = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(p["exceptionDetails"].to_string())
            }
            Some("Runtime.consoleAPICalled") if p["type"] == "error" || p["type"] == "warning" => {
                self.complaints.push(p["args"].to_string());
            }
            Some("Log.entryAdded") if p["entry"]["level"] == "error" => {
                self.complaints.push(p["entry"].to_string());
            }
            Some("Network.requestWillBeSent") => {
                let url = p["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("data:") && !url.starts_with("blob:") {
                    self.requests.push(url.to_owned());
                }
            }
            _ => {}
        }
    }

    pub fn size(&mut self, width: u32, height: u32, phone: bool) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}),
        );
    }

    pub fn scheme(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme},
                              {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Day or night comes while the page is open; returns when the page has noticed.
    #[allow(dead_code, reason = "studies and pictures open their pages anew")]
    pub fn turn(&mut self, scheme: &str) {
        self.scheme(scheme);
        let other = if scheme == "dark" { "light" } else { "dark" };
        self.until(&format!(
            "document.querySelector('#theme').textContent === 'Switch to {other}'"
        ));
    }

    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    pub fn open_file(&mut self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// The value of an expression (a promise is waited for).
    pub fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(
            result["exceptionDetails"].is_null(),
            "{script}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    pub fn text(&mut self, script: &str) -> String {
        self.eval(script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, script: &str) {
        let begun = Instant::now();
        while self.eval(&format!("!!({script})")) != json!(true) {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "not within 60 s: {script}"
            );
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Moves the mouse to a place of the window.
    pub fn hover(&mut self, x: f64, y: f64) {
        for step in [-3.0, -1.0, 0.0] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": "mouseMoved", "x": x + step, "y": y}),
            );
        }
    }

    pub fn click(&mut self, x: f64, y: f64) {
        self.hover(x, y);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}),
            );
        }
    }

    /// The middle of the first element a selector finds, scrolled into sight.
    pub fn middle(&mut self, selector: &str) -> (f64, f64) {
        let script = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        );
        let at = self.eval(&script);
        (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
    }

    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({"type": kind, "key": key, "code": key});
            if key == "Enter" {
                params["text"] = json!("\r");
                params["windowsVirtualKeyCode"] = json!(13);
            }
            if key == "Tab" {
                params["windowsVirtualKeyCode"] = json!(9);
            }
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// A picture of the window, or of the whole page.
    pub fn picture(&mut self, name: &str, whole: bool) -> PathBuf {
        use base64::Engine as _;
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"format": "png", "captureBeyondViewport": whole}),
        );
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap();
        let folder = target().join("report-pictures");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The upper part of the page as WebP, for the documentation.
    #[allow(dead_code, reason = "examples/pictures.rs takes pictures with it")]
    pub fn web_picture(&mut self, width: u32, height: u32) -> Vec<u8> {
        use base64::Engine as _;
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"format": "webp", "quality": 55, "clip": clip, "captureBeyondViewport": true}),
        );
        base64::engine::general_purpose::STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap()
    }

    /// Serious and critical findings of axe-core.
    pub fn axe(&mut self) -> Vec<String> {
        let source = axe_source();
        self.eval(&format!("(() => {{ {source}\n; window.axe = axe; }})()"));
        let found = self.eval(
            "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.html.slice(0, 160) + ' ' + (n.any[0] ? n.any[0].message : '')).join(' | ')}`))",
        );
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap().to_owned())
            .collect()
    }

    /// Fails if the page complained or asked for anything but what is allowed.
    pub fn quiet(&self, allowed: &str) {
        assert!(
            self.complaints.is_empty(),
            "the console complained: {:#?}",
            self.complaints
        );
        let foreign: Vec<_> = self
            .requests
            .iter()
            .filter(|u| !u.starts_with(allowed))
            .collect();
        assert!(foreign.is_empty(), "the page asked for {foreign:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The build folder, where pictures and axe-core are kept.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target"),
        PathBuf::from,
    )
}

/// axe-core, installed from npm by name when it is not there yet.
fn axe_source() -> String {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = LOCK
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = target().join("axe");
    let file = folder.join("node_modules/axe-core/axe.min.js");
    if !file.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        let done = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg("axe-core@4")
            .output()
            .expect("npm is needed for the accessibility check: install nodejs and npm, or set MARY_SKIP_BROWSER=1");
        assert!(
            done.status.success(),
            "npm install axe-core: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    std::fs::read_to_string(&file).unwrap()
}
