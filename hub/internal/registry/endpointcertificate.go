package registry

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Certificate is a client certificate with its key, both PEM.
type Certificate struct {
	Chain string // the certificate, then those that lead to its authority
	Key   string
}

// CertificateInfo is what is shown of a client certificate.
type CertificateInfo struct {
	Subject   string
	ExpiresAt time.Time
}

const (
	certificateLocation = "body.client_certificate.certificate"
	keyLocation         = "body.client_certificate.key"
)

// check refuses a certificate that no receiver would take, or whose key is not its own.
func (c Certificate) check(now time.Time) error {
	for rest := []byte(c.Key); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return hub.Invalid(keyLocation, "is encrypted; decrypt it first (openssl pkey)")
		}
	}
	leaf, err := parseLeaf(c.Chain)
	if err != nil {
		return hub.Invalid(certificateLocation, "must be a certificate in PEM, followed by those that lead to its authority")
	}
	if !now.Before(leaf.NotAfter) {
		return hub.Invalid(certificateLocation, "expired on "+leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	switch _, err := tls.X509KeyPair([]byte(c.Chain), []byte(c.Key)); {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "private key does not match"), strings.Contains(err.Error(), "private key type does not match"):
		return hub.Invalid(keyLocation, "is not the key of the certificate")
	}
	return hub.Invalid(keyLocation, "must be a private key in PEM: RSA, ECDSA or Ed25519")
}

// parseLeaf returns the first certificate of a PEM text.
func parseLeaf(chain string) (*x509.Certificate, error) {
	for rest := []byte(chain); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("there is no certificate")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
}

// certificateInfoOf returns what is shown of a stored certificate; nil for none.
func certificateInfoOf(chain *string) *CertificateInfo {
	if chain == nil {
		return nil
	}
	leaf, err := parseLeaf(*chain)
	if err != nil {
		return &CertificateInfo{} // it was checked when it was stored
	}
	return &CertificateInfo{Subject: leaf.Subject.String(), ExpiresAt: leaf.NotAfter.UTC()}
}

// ClientKeyContext returns what the key of an endpoint's client certificate is encrypted
// under.
func ClientKeyContext(endpointID uuid.UUID) string {
	return "endpoint-client-key/" + endpointID.String()
}

// OpenCertificate returns an endpoint's client certificate from its stored form; nil for none.
func OpenCertificate(box Opener, endpointID uuid.UUID, chain *string, sealedKey []byte) (*tls.Certificate, error) {
	if chain == nil {
		return nil, nil
	}
	key, err := box.Open(sealedKey, ClientKeyContext(endpointID))
	if err != nil {
		return nil, fmt.Errorf("opening the client key of endpoint %s: %w", endpointID, err)
	}
	pair, err := tls.X509KeyPair([]byte(*chain), key)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate of endpoint %s: %w", endpointID, err)
	}
	return &pair, nil
}

// sealCertificate returns the stored form of a certificate; nils for none.
func (e *Endpoints) sealCertificate(endpointID uuid.UUID, c *Certificate) (chain *string, sealedKey []byte) {
	if c == nil || *c == (Certificate{}) {
		return nil, nil
	}
	return &c.Chain, e.box.Seal([]byte(c.Key), ClientKeyContext(endpointID))
}
