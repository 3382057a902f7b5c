// Package seal encrypts secrets that the hub must read back, such as webhook secrets
// and peers' keys: AES-256-GCM under keys derived from the master key.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"integrationhub/hub/internal/ownership"
)

// KeySize is the length of the master key and of every derived key, in bytes.
const KeySize = 32

// version1 is the first byte of a sealed value. A 12-byte nonce, the ciphertext and its
// 16-byte tag follow.
const version1 = 1

// ErrOpen is returned for a value that is not authentic.
var ErrOpen = errors.New("sealed value cannot be opened: wrong master key, or changed")

// Box seals and opens with one master key. It is safe for concurrent use.
type Box struct {
	master []byte
	aead   cipher.AEAD
}

// New returns a box for a master key of [KeySize] bytes.
func New(masterKey []byte) (*Box, error) {
	if len(masterKey) != KeySize {
		return nil, fmt.Errorf("making a sealed box: the master key has %d bytes, not %d", len(masterKey), KeySize)
	}
	box := &Box{master: append([]byte(nil), masterKey...)}
	block, err := aes.NewCipher(box.Derive("seal"))
	if err != nil {
		return nil, fmt.Errorf("making a sealed box: %w", err)
	}
	if box.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("making a sealed box: %w", err)
	}
	return box, nil
}

// Seal encrypts plain. The context names the kind and the owner of the value, such as a
// row's id. Opening needs the same context, so a sealed value that was moved to another
// row does not open.
func (b *Box) Seal(plain []byte, context string) []byte {
	head := 1 + b.aead.NonceSize()
	sealed := make([]byte, head, head+len(plain)+b.aead.Overhead())
	sealed[0] = version1
	_, _ = rand.Read(sealed[1:])                                   // never fails: crypto/rand ends the program instead
	return b.aead.Seal(sealed, sealed[1:], plain, []byte(context)) //nolint:gosec // the nonce is random: two lines up
}

// Open returns the value that was sealed under the same context, or [ErrOpen].
func (b *Box) Open(sealed []byte, context string) ([]byte, error) {
	head := 1 + b.aead.NonceSize()
	if len(sealed) < head+b.aead.Overhead() || sealed[0] != version1 {
		return nil, ErrOpen
	}
	plain, err := b.aead.Open(nil, sealed[1:head], sealed[head:], []byte(context))
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

// Derive returns a key of [KeySize] bytes for a purpose, always the same one
// (HKDF-SHA-256). It reveals nothing about the master key or other derived keys.
func (b *Box) Derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, b.master, nil, "integrationhub/"+purpose, KeySize)
	if err != nil { // only for lengths above 255 hashes
		panic(err)
	}
	return key
}

// LoadOrCreateKeyFile reads a master key from a file of 64 hex digits. A missing file is
// created with a new key, and created is true. A file that others may read is an error;
// a file with other contents is never overwritten.
func LoadOrCreateKeyFile(path string) (key []byte, created bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKeyFile(path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the master key: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading the master key: %w", err)
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		return nil, false, fmt.Errorf("reading the master key: %s can be read by others (mode %o): chmod 600 it", path, info.Mode().Perm())
	}
	key, err = hex.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(key) != KeySize {
		return nil, false, fmt.Errorf("reading the master key: %s does not hold %d hex digits", path, 2*KeySize)
	}
	return key, false, nil
}

// createKeyFile creates the file atomically: a temporary file is linked to path, which
// fails if another process was first. Then the key of that process is used.
func createKeyFile(path string) ([]byte, bool, error) {
	dir := filepath.Dir(path)
	if err := ownership.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("keeping the master key: %w", err)
	}
	key := make([]byte, KeySize)
	_, _ = rand.Read(key)                            // never fails: crypto/rand ends the program instead
	file, err := os.CreateTemp(dir, ".master-key-*") // mode 0600
	if err != nil {
		return nil, false, fmt.Errorf("keeping the master key: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err = file.WriteString(hex.EncodeToString(key) + "\n"); err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = ownership.Inherit(file.Name())
	}
	if err == nil {
		err = os.Link(file.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return LoadOrCreateKeyFile(path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("keeping the master key: %w", err)
	}
	return key, true, nil
}
