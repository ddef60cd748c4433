//! The exchange against the example of RFC 7677 and against each way to get it wrong.

use super::*;

const CLIENT_FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const CLIENT_FINAL: &[u8] = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

fn verifier() -> Verifier {
    let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    Verifier::with_salt("pencil", &salt, 4096)
}

fn started() -> Exchange {
    let mut exchange = Exchange::new("user", Some(&verifier()), b"secret", None);
    exchange.first_with_nonce(CLIENT_FIRST, SERVER_NONCE).unwrap();
    exchange
}

#[test]
fn the_example_of_rfc_7677_succeeds() {
    let mut exchange = Exchange::new("user", Some(&verifier()), b"secret", None);
    let answer = exchange.first_with_nonce(CLIENT_FIRST, SERVER_NONCE).unwrap();
    assert_eq!(
        answer,
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    let answer = exchange.finish(CLIENT_FINAL).unwrap();
    assert_eq!(answer, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn a_wrong_password_and_an_unknown_user_fail_alike() {
    let wrong = Verifier::with_salt("pen", &BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(), 4096);
    for verifier in [Some(&wrong), None] {
        let mut exchange = Exchange::new("user", verifier, b"secret", None);
        exchange.first_with_nonce(CLIENT_FIRST, SERVER_NONCE).unwrap();
        let error = exchange.finish(CLIENT_FINAL).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PASSWORD);
        assert_eq!(error.to_string(), "password authentication failed for user \"user\"");
    }
}

#[test]
fn the_salt_of_an_unknown_user_is_stable() {
    let answer = |user: &str, secret: &[u8]| {
        Exchange::new(user, None, secret, None).first_with_nonce(CLIENT_FIRST, "x").unwrap()
    };
    assert_eq!(answer("a", b"1"), answer("a", b"1"));
    assert_ne!(answer("a", b"1"), answer("b", b"1"));
    assert_ne!(answer("a", b"1"), answer("a", b"2"));
}

#[test]
fn malformed_messages_are_refused() {
    let first: [&[u8]; 10] = [
        b"",
        b"n",
        b"n,",
        b"x,,n=u,r=abc",
        b"n,a=other,n=u,r=abc",
        b"n,,m=x,n=u,r=abc",
        b"p=tls-unique,,n=u,r=abc",
        b"n,,r=abc",
        b"n,,n=u,r=",
        b"\xFF\xFE",
    ];
    for message in first {
        assert!(Exchange::new("user", None, b"s", None).first(MECHANISM, message).is_err(), "{message:?}");
    }
    let finals: [&[u8]; 7] = [
        b"",
        b"c=biws",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        b"c=eSws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzb",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=?",
        &[b'c'; 2000],
    ];
    for message in finals {
        assert!(started().finish(message).is_err(), "{message:?}");
    }
}

#[test]
fn a_verifier_survives_its_text() {
    let verifier = Verifier::of_password("pässword");
    assert_eq!(verifier.to_string().parse(), Ok(verifier));
    for text in ["", "md5abc", "SCRAM-SHA-256$4096:AA==$AA==:AA==", "SCRAM-SHA-256$0:AA==$x:y"] {
        assert_eq!(text.parse::<Verifier>(), Err(InvalidVerifier), "{text}");
    }
}

const END_POINT: &[u8] = &[7; 32];

/// A login with the right password whose channel is bound to `bound_to`.
fn bound_login(mechanism: &str, header: &str, bound_to: &[u8]) -> Result<String> {
    let mut exchange = Exchange::new("user", Some(&verifier()), b"secret", Some(END_POINT.to_vec()));
    let bare = "n=user,r=abc";
    exchange.is_bound = mechanism == BINDING_MECHANISM;
    let answer = exchange.first_with_nonce(format!("{header}{bare}").as_bytes(), "def")?;
    let binding = BASE64.encode([header.as_bytes(), bound_to].concat());
    let without_proof = format!("c={binding},r=abcdef");
    let signed = format!("{bare},{answer},{without_proof}");
    let mut salted: Key = [0; 32];
    pbkdf2::pbkdf2_hmac::<Sha256>(b"pencil", &verifier().salt, 4096, &mut salted);
    let mut proof = hmac_sha256(&salted, b"Client Key");
    let signature = hmac_sha256(&Sha256::digest(proof), signed.as_bytes());
    proof.iter_mut().zip(signature).for_each(|(byte, mask)| *byte ^= mask);
    exchange.finish(format!("{without_proof},p={}", BASE64.encode(proof)).as_bytes())
}

#[test]
fn a_channel_is_bound_to_the_certificate_that_was_shown() {
    let header = "p=tls-server-end-point,,";
    assert!(bound_login(BINDING_MECHANISM, header, END_POINT).is_ok());
    let error = bound_login(BINDING_MECHANISM, header, &[8; 32]).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::INVALID_AUTHORIZATION);
    assert_eq!(error.to_string(), "SCRAM channel binding check failed");
    assert!(bound_login(BINDING_MECHANISM, header, b"").is_err());
    // A client may choose not to bind.
    assert!(bound_login(MECHANISM, "n,,", b"").is_ok());
}

#[test]
fn a_client_that_was_told_that_channels_are_not_bound_is_refused() {
    let error = bound_login(MECHANISM, "y,,", b"").unwrap_err();
    assert_eq!(error.to_string(), "SCRAM channel binding negotiation error");
    for (mechanism, header) in [
        (MECHANISM, "p=tls-server-end-point,,"),
        (BINDING_MECHANISM, "n,,"),
        (BINDING_MECHANISM, "y,,"),
        (BINDING_MECHANISM, "p=tls-unique,,"),
        (BINDING_MECHANISM, "p,,"),
    ] {
        let error = bound_login(mechanism, header, END_POINT).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::PROTOCOL_VIOLATION, "{mechanism} {header}");
    }
}
