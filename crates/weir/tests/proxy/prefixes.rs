//! Shows that an application which knows itself at the root works below a prefix: it is told of that, and
//! its answers lead back below it.

use crate::support::{Backend, Server, route};

/// The application below `/app`.
fn below(backend: &Backend, keys: &str) -> Server {
    let route = route("/app", &[&backend.url]);
    Server::configured(&format!("{route}{keys}"), &[])
}

#[test]
fn the_backend_is_told_of_the_prefix_that_was_taken_off() {
    let strip = "strip_prefix = true\n";
    for (keys, said, told) in [
        (strip.to_owned(), "", &["/app"][..]),
        (strip.to_owned(), "X-Forwarded-Prefix: /lie\r\n", &["/app"]),
        (
            format!("{strip}trust_forwarded = true\n"),
            "X-Forwarded-Prefix: /outer/\r\n",
            &["/outer/app"],
        ),
        (format!("{strip}forwarded = \"standard\"\n"), "", &[]),
        (format!("{strip}forwarded = \"off\"\n"), "X-Forwarded-Prefix: /lie\r\n", &[]),
        (
            format!(
                "{strip}request_headers = {{ set = {{ \"X-Forwarded-Prefix\" = \"/mine\" }} }}\n"
            ),
            "",
            &["/mine"],
        ),
        (String::new(), "X-Forwarded-Prefix: /lie\r\n", &[]),
        ("rewrite = \"/v2\"\n".to_owned(), "", &[]),
    ] {
        let backend = Backend::saying("");
        let server = below(&backend, &keys);
        assert_eq!(server.connect().get_with("/app/x", said).status, 200);
        assert_eq!(backend.only().fields("X-Forwarded-Prefix"), told, "{keys}");
    }
}

/// Answers with everything that names a path, by the host that it is asked by.
fn application() -> Backend {
    Backend::new(|call| {
        let host = call.asked.fields("Host").concat();
        let fields = format!(
            "Location: http://{host}/login?next=/x\r\nContent-Location: /page\r\n\
             Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; path=/in; Secure\r\nSet-Cookie: c=3\r\n\
             Link: </style.css>; rel=preload\r\n"
        );
        call.ok_with(&fields, "")
    })
}

#[test]
fn answers_lead_below_the_prefix() {
    let backend = application();
    let server = below(&backend, "strip_prefix = true\n");
    let answer = server.get("/app/x");
    assert_eq!(backend.only().target(), "/x");
    assert_eq!(answer.field("Location"), Some("http://weir/app/login?next=/x"));
    assert_eq!(answer.field("Content-Location"), Some("/app/page"));
    assert_eq!(answer.fields("Set-Cookie"), ["a=1; Path=/app", "b=2; path=/app/in; Secure", "c=3"]);
    assert_eq!(answer.field("Link"), Some("</style.css>; rel=preload"));
}

#[test]
fn the_name_that_only_the_backend_knows_is_left_out() {
    let backend = application();
    let keys = "strip_prefix = true\nhost_header = \"app.internal:81\"\n";
    let answer = below(&backend, keys).get("/app/x");
    assert_eq!(backend.only().fields("Host"), ["app.internal:81"]);
    assert_eq!(answer.field("Location"), Some("/app/login?next=/x"));
}

#[test]
fn other_routes_pass_answers_on_as_they_are() {
    let backend = application();
    for keys in ["", "rewrite = \"/\"\n"] {
        let answer = below(&backend, keys).get("/app/x");
        assert_eq!(answer.field("Location"), Some("http://weir/login?next=/x"), "{keys}");
        assert_eq!(answer.field("Content-Location"), Some("/page"), "{keys}");
        assert_eq!(
            answer.fields("Set-Cookie"),
            ["a=1; Path=/", "b=2; path=/in; Secure", "c=3"],
            "{keys}"
        );
    }
}
