//! nginx and weir side by side, each with its block of the guide, over the same files and before the same
//! backends. What differs everywhere by design, as the guide says, is left out of comparisons here.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::guide::block;
use crate::support::{
    Asked, Backend, Client, Response, Running, Server, nginx, output_of, own_host, tool, weir,
};

/// Where nginx listens; no kernel gives these ports to another server by itself.
const PORT: u16 = 8080;
const SECURE_PORT: u16 = 8443;

/// A request of this path and host, with more lines of the head, each with its CRLF.
pub(super) fn at(host: &str, path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n")
}

pub(super) fn get_with(path: &str, fields: &str) -> String {
    at("example.org", path, fields)
}

pub(super) fn get(path: &str) -> String {
    get_with(path, "")
}

/// What a backend is called in both configurations.
pub(super) fn place(url: &str) -> &str {
    url.trim_start_matches("http://")
}

/// A heading of the guide, and what its blocks are tried with.
pub(super) struct Stand {
    heading: &'static str,
    directory: TempDir,
    /// What the guide calls by another name than the test.
    replaced: Vec<(String, String)>,
}

impl Stand {
    /// The blocks below this heading; `/srv`, `/etc` and `/var` are below a directory of its own.
    pub(super) fn of(heading: &'static str) -> Stand {
        let directory = tempfile::tempdir().expect("a directory");
        let here = directory.path().display();
        // The directory may be below /var itself.
        let replaced =
            ["var", "etc", "srv"].map(|name| (format!("/{name}/"), format!("{here}/{name}/")));
        Stand { heading, directory, replaced: replaced.into() }
    }

    /// A file that is an hour old, by its path without the slash at its beginning.
    pub(super) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Stand {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().expect("it is below one")).expect("a directory");
        fs::write(&path, content).expect("a file");
        let file = fs::File::options().append(true).open(&path).expect("the file");
        let then = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(then).expect("a modification time");
        self
    }

    pub(super) fn files(self, files: &[(&str, &str)]) -> Stand {
        files.iter().fold(self, |stand, (path, content)| stand.file(path, content))
    }

    /// Writes `ours` where the guide has `theirs`.
    pub(super) fn with(mut self, theirs: &str, ours: &str) -> Stand {
        let blocks = ["nginx", "toml"].map(|language| block(self.heading, language)).concat();
        assert!(blocks.contains(theirs), "{theirs} is not below {}", self.heading);
        self.replaced.push((theirs.to_owned(), ours.to_owned()));
        self
    }

    /// The backend that the guide has at port 9000.
    pub(super) fn before(self, backend: &Backend) -> Stand {
        self.with("127.0.0.1:9000", place(&backend.url))
    }

    fn text(&self, language: &str) -> String {
        let text = block(self.heading, language);
        self.replaced.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
    }

    pub(super) fn start(self) -> Both {
        let nginx = Nginx::start(self.directory.path(), &self.text("nginx"));
        let weir = serve(self.directory.path(), &self.text("toml"));
        Both { nginx, weir, directory: self.directory }
    }

    /// weir without nginx, and the directory.
    pub(super) fn alone(self) -> (Server, TempDir) {
        let weir = serve(self.directory.path(), &self.text("toml"));
        (weir, self.directory)
    }
}

/// weir with this configuration, at ports that are free.
fn serve(directory: &Path, text: &str) -> Server {
    let file = directory.join("weir.toml");
    fs::write(&file, text).expect("the configuration is written");
    let mut command = weir();
    command.args(["serve", "--workers", "1", "--listen", "127.0.0.1:0"]);
    for (key, flag, value) in
        [("admin = ", "--admin", "127.0.0.1:0"), ("access_log = ", "--access-log", "off")]
    {
        if !text.contains(key) {
            command.args([flag, value]);
        }
    }
    command.arg("--config").arg(file);
    Server::run(command, 1, true)
}

/// See the module.
pub(super) struct Both {
    pub(super) nginx: Nginx,
    pub(super) weir: Server,
    pub(super) directory: TempDir,
}

impl Both {
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        [self.nginx.address, self.weir.address()]
    }

    /// What nginx and weir answer to a client at this address.
    pub(super) fn ask_from(&self, from: [u8; 4], request: &str) -> [Response; 2] {
        self.addresses().map(|address| {
            let mut client = Client::connect_from(from.into(), address);
            client.send(request);
            if request.starts_with("HEAD ") { client.head() } else { client.response() }
        })
    }

    pub(super) fn ask(&self, request: &str) -> [Response; 2] {
        self.ask_from([127, 0, 0, 1], request)
    }

    /// The same, and both answer the same: status, these fields, and what is sent with success.
    #[track_caller]
    pub(super) fn same(&self, request: &str, fields: &[&str]) -> [Response; 2] {
        let answers = self.ask(request);
        let [nginx, weir] = &answers;
        assert_eq!(weir.status, nginx.status, "{request}");
        for name in fields {
            assert_eq!(field(weir, name), field(nginx, name), "{name} of {request}");
        }
        let is_same = weir.status >= 300 || weir.body == nginx.body;
        assert!(is_same, "{request}: {} is not {}", weir.text(), nginx.text());
        answers
    }

    /// What `backend` is asked by nginx and by weir for such a request of a client.
    pub(super) fn asked_from(&self, from: [u8; 4], backend: &Backend, request: &str) -> [Asked; 2] {
        let before = backend.requests().len();
        self.ask_from(from, request);
        let asked = backend.requests().split_off(before);
        asked.try_into().expect("each asks once")
    }

    pub(super) fn asked(&self, backend: &Backend, request: &str) -> [Asked; 2] {
        self.asked_from([127, 0, 0, 1], backend, request)
    }
}

/// A field without what differs everywhere: the server in `Location`, the charset in `Content-Type`.
fn field<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    let value = answer.field(name)?;
    Some(match name {
        "Location" => {
            let path = value.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
            // With its slash.
            path.map_or(value, |(_, path)| &value[value.len() - path.len() - 1..])
        }
        "Content-Type" => value.split(';').next().unwrap_or(value),
        _ => value,
    })
}

/// nginx at its addresses.
pub(super) struct Nginx {
    _program: Running,
    /// In clear text.
    pub(super) address: SocketAddr,
    /// With TLS, if the guide says so.
    pub(super) secure: SocketAddr,
}

impl Nginx {
    fn start(directory: &Path, text: &str) -> Nginx {
        let host = own_host();
        let [address, secure] = [PORT, SECURE_PORT].map(|port| SocketAddr::from((host, port)));
        let http = format!(
            "include /etc/nginx/mime.types;\ndefault_type application/octet-stream;\n\
             access_log off;\n{}",
            listening(text, address, secure)
        );
        let program = nginx(directory, &http, || TcpStream::connect(address).is_ok());
        Nginx { _program: program, address, secure }
    }
}

/// The block of the guide for these addresses. Without `listen` it is for the first.
fn listening(text: &str, address: SocketAddr, secure: SocketAddr) -> String {
    match text.contains("listen ") {
        true => text
            .replace("listen 80;", &format!("listen {address};"))
            .replace("listen 443 ssl;", &format!("listen {secure} ssl;")),
        false => text.replace("server {\n", &format!("server {{\nlisten {address};\n")),
    }
}

/// Whether nginx was built with a module that some packages of it leave out.
pub(super) fn nginx_has(module: &str) -> bool {
    let mut command = tool("nginx", "nginx-light");
    command.arg("-V");
    output_of(command).contains(module)
}
