package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
)

var errOtherKey = fmt.Errorf("%w: HUB_MASTER_KEY (or master.key in the data directory) is not the key that the secrets in this database were encrypted with", ErrSetting)

// openBox returns the box of secrets, with the configured master key or the one in the data
// directory. If there is neither it makes one; created is its file. A file that is unusable is an
// [ErrSetting].
func openBox(cfg config.Config) (box *seal.Box, created string, err error) {
	key, err := cfg.MasterKeyBytes()
	if err != nil {
		return nil, "", err
	}
	if key == nil {
		path := filepath.Join(cfg.DataDir, "master.key")
		var isNew bool
		if key, isNew, err = seal.LoadOrCreateKeyFile(path); err != nil {
			return nil, "", fmt.Errorf("%w: %w", ErrSetting, err)
		}
		if isNew {
			created = path
		}
	}
	box, err = seal.New(key)
	return box, created, err
}

// checkMasterKey returns [ErrSetting] if the master key does not decrypt the secrets in
// the database: no tenant with endpoints could publish, and nothing would be delivered.
// It tries the newest secret of each kind, since older ones may be of a lost key, and what
// [keyCheck] stored for the data of products.
func (s *storage) checkMasterKey(ctx context.Context, log *slog.Logger) error {
	for _, kind := range []struct {
		newest  string
		context func(uuid.UUID) string
	}{
		{`select id, secret from hub.endpoints order by id desc limit 1`, registry.SecretContext},
		{`select id, secret from hub.integrations where secret is not null order by id desc limit 1`, integration.SecretContext},
		{`select id, remote_key from hub.integrations where remote_key is not null order by id desc limit 1`, integration.RemoteKeyContext},
	} {
		var id uuid.UUID
		var sealed []byte
		err := s.api.QueryRow(ctx, kind.newest).Scan(&id, &sealed)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			continue
		case err != nil:
			return fmt.Errorf("reading a secret to check the master key: %w", err)
		}
		if _, err := s.box.Open(sealed, kind.context(id)); err != nil {
			return errOtherKey
		}
	}
	s.keyCheck = &keyCheck{db: s.engine, box: s.box, log: log}
	var sealed []byte
	if err := s.api.QueryRow(ctx, `select key_check from hub.installation`).Scan(&sealed); err != nil {
		return fmt.Errorf("reading what the master key sealed: %w", err)
	}
	if sealed == nil {
		return nil
	}
	s.keyCheck.stored = true
	if _, err := s.box.Open(sealed, keyCheckContext); err != nil {
		return errOtherKey
	}
	return nil
}

const (
	keyCheckContext = "installation"
	keyCheckTimeout = 5 * time.Second
)

// keyCheck stores, when a product first encrypts something, what the next start needs to
// recognize another master key: the products' data may be all that is encrypted.
type keyCheck struct {
	db  *pgxpool.Pool
	box *seal.Box
	log *slog.Logger

	mu     sync.Mutex
	stored bool
}

// store stores the check unless there is one. It is stored before what is encrypted now: the
// caller's transaction has not ended.
func (k *keyCheck) store() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stored {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyCheckTimeout)
	defer cancel()
	if _, err := k.db.Exec(ctx, `update hub.installation set key_check = $1 where key_check is null`, k.box.Seal(nil, keyCheckContext)); err != nil {
		k.log.Warn("the check of the master key could not be stored; the next encryption tries again", "error", err)
		return
	}
	k.stored = true
}
