//! TLS: the server's certificate and key, and what depends on them.
//!
//! Files are PEM: the certificate first in its file, followed by those that lead to its root, and one private
//! key. They are read at the start, which is refused with a sentence if anything is wrong with them. They are
//! read again at SIGHUP. A problem is then logged, and the files read before stay in use. A new certificate
//! applies to connections that begin after it.
//!
//! Invariants:
//! 1. The key belongs to the certificate, and is readable by its owner or, where root owns it, by a group.
//! 2. [`Material::end_point`] belongs to the certificate that was shown in the connection's handshake.
//!
//! There is no renegotiation: rustls does not support it in TLS 1.2, and TLS 1.3 has abolished it.
//!
//! Reference: RFC 5929, 4.1 (tls-server-end-point); rules on permissions as PostgreSQL's `ssl_key_file`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades::session::Encryption;
use parking_lot::Mutex;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerConnection;
use rustls::{CipherSuite, InconsistentKeys, ProtocolVersion, ServerConfig};
use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_cert::der::Decode;

/// The paths of certificate and key, and what was read there last.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    material: Mutex<Arc<Material>>,
}

/// What a handshake needs.
pub struct Material {
    pub config: Arc<ServerConfig>,
    /// Hash of the certificate as SCRAM binds to it. `None` where its signature has no hash of its own.
    pub end_point: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let material = Material::read(certificate, key)?;
        Ok(Tls {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            material: Mutex::new(Arc::new(material)),
        })
    }

    /// Reads them again. After an error the previous ones stay in use.
    ///
    /// # Errors
    /// As [`Tls::read`].
    pub fn read_again(&self) -> Result<(), String> {
        let material = Arc::new(Material::read(&self.certificate, &self.key)?);
        *self.material.lock() = material;
        Ok(())
    }

    pub fn material(&self) -> Arc<Material> {
        Arc::clone(&self.material.lock())
    }
}

impl Material {
    fn read(certificate: &Path, key: &Path) -> Result<Material, String> {
        let chain = certificates(certificate)?;
        let end_point = chain.first().and_then(|leaf| end_point(leaf.as_ref()));
        let key_der = private_key(key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .with_no_client_auth()
            .with_single_cert(chain, key_der)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => format!(
                    "the TLS key {} does not belong to the certificate {}",
                    key.display(),
                    certificate.display()
                ),
                error => format!(
                    "the TLS certificate {} and its key {} cannot be used: {error}",
                    certificate.display(),
                    key.display()
                ),
            })?;
        Ok(Material { config: Arc::new(config), end_point })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = std::fs::read(path)
        .map_err(|error| format!("could not read the TLS certificate {}: {error}", path.display()))?;
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(format!("there is no certificate in {}, which should be a PEM file", path.display())),
        Err(error) => Err(format!("the TLS certificate {} is damaged: {error}", path.display())),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let unreadable = |error| format!("could not read the TLS key {}: {error}", path.display());
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    check_permissions(path, &metadata, rustix::process::geteuid().as_raw())?;
    let bytes = std::fs::read(path).map_err(unreadable)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
        pem::Error::NoItemsFound if String::from_utf8_lossy(&bytes).contains("ENCRYPTED PRIVATE KEY") => {
            format!(
                "the TLS key {} is encrypted; a server that starts by itself needs one without a passphrase",
                path.display()
            )
        }
        pem::Error::NoItemsFound => {
            format!("there is no private key in {}, which should be a PEM file", path.display())
        }
        error => format!("the TLS key {} is damaged: {error}", path.display()),
    })
}

/// As PostgreSQL: only the owner, who is this user or root, may read the key. A group may read root's.
fn check_permissions(path: &Path, metadata: &std::fs::Metadata, user: u32) -> Result<(), String> {
    if !metadata.is_file() {
        return Err(format!("the TLS key {} is not a regular file", path.display()));
    }
    let owner = metadata.uid();
    if owner != user && owner != 0 {
        return Err(format!(
            "the TLS key {} must be owned by the user who runs the server, or by root",
            path.display()
        ));
    }
    let (forbidden, allowed) = if owner == user && user != 0 { (0o077, "0600") } else { (0o027, "0640") };
    let mode = metadata.mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(format!(
            "the TLS key {} has permissions {mode:04o}, so others can use it; it may have at most {allowed}",
            path.display()
        ));
    }
    Ok(())
}

/// `tls-server-end-point`: the hash that the certificate's signature uses, with SHA-256 in place of weak
/// ones.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = x509_cert::Certificate::from_der(certificate).ok()?;
    let algorithm = parsed.signature_algorithm.oid.to_string();
    Some(match algorithm.as_str() {
        // RSA with MD5, SHA-1 and SHA-256; ECDSA with SHA-1 and SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Sha256::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The parameters that were agreed, in OpenSSL's words, which `pg_stat_ssl` and its users expect.
pub fn agreed(connection: &ServerConnection) -> Encryption {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "unknown",
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    let (cipher, bits) = suite.map_or(("unknown", 0), suite_shown);
    Encryption { version, cipher, bits }
}

fn suite_shown(suite: CipherSuite) -> (&'static str, i32) {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => ("TLS_AES_256_GCM_SHA384", 256),
        CipherSuite::TLS13_AES_128_GCM_SHA256 => ("TLS_AES_128_GCM_SHA256", 128),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => ("TLS_CHACHA20_POLY1305_SHA256", 256),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => ("ECDHE-ECDSA-AES256-GCM-SHA384", 256),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => ("ECDHE-ECDSA-AES128-GCM-SHA256", 128),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => ("ECDHE-ECDSA-CHACHA20-POLY1305", 256),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => ("ECDHE-RSA-AES256-GCM-SHA384", 256),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => ("ECDHE-RSA-AES128-GCM-SHA256", 128),
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => ("ECDHE-RSA-CHACHA20-POLY1305", 256),
        other => (other.as_str().unwrap_or("unknown"), 0),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rcgen::{CertificateParams, KeyPair, SigningKey};

    use super::*;

    fn self_signed(key: &impl SigningKey) -> rcgen::Certificate {
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(key).unwrap()
    }

    #[test]
    fn the_end_point_is_hashed_as_the_certificate_is_signed() {
        for (algorithm, size) in [
            (&rcgen::PKCS_ECDSA_P256_SHA256, Some(32)),
            (&rcgen::PKCS_ECDSA_P384_SHA384, Some(48)),
            // A signature that has no hash.
            (&rcgen::PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let certificate = self_signed(&key);
            assert_eq!(end_point(certificate.der()).map(|hash| hash.len()), size, "{algorithm:?}");
        }
        assert_eq!(end_point(b"nonsense"), None);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "x").unwrap();
        let user = std::fs::metadata(&path).unwrap().uid();
        let judged = |mode: u32, user: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            check_permissions(&path, &std::fs::metadata(&path).unwrap(), user)
        };
        assert_eq!(judged(0o600, user), Ok(()));
        assert_eq!(judged(0o400, user), Ok(()));
        for mode in [0o604, 0o660, 0o602] {
            let sentence = judged(mode, user).unwrap_err();
            assert!(sentence.contains(&format!("permissions {mode:04o}")), "{sentence}");
        }
        assert_eq!(judged(0o640, user).is_ok(), user == 0);
        if user != 0 {
            assert!(judged(0o600, user + 1).unwrap_err().contains("must be owned by"));
        }
        let directory = std::fs::metadata(directory.path()).unwrap();
        assert!(check_permissions(&path, &directory, user).unwrap_err().contains("not a regular file"));
    }
}
