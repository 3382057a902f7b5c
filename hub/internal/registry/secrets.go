package registry

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/pointer"
)

// How long both secrets of a rotation sign.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 7 * 24 * time.Hour
)

// plainSecretPattern matches plain secrets: 24 to 128 printable ASCII characters.
var plainSecretPattern = regexp.MustCompile(`^[ -~]{24,128}$`)

// secretRule describes the secrets that a caller may choose.
const secretRule = "must be whsec_ and the padded base64 of 24 to 64 bytes, or a plain secret of 24 to 128 printable ASCII characters that does not begin with whsec_" //nolint:gosec // no credential

// Signing describes how an endpoint's deliveries are signed. X-Webhook-Signature has room
// for one signature, webhook-signature for one of each secret.
type Signing struct {
	Standard         bool       // the secret also makes webhook-signature; a plain one does not
	PreviousUntil    *time.Time // end of a rotation's overlap; nil = no rotation since, or none with an overlap
	PreviousStandard bool       // the previous secret also makes webhook-signature
	SwitchAtEnd      bool       // during the overlap the previous secret makes X-Webhook-Signature
}

func signingOf(row dbgen.Endpoint) Signing {
	return Signing{row.StandardSignature, row.PreviousExpiresAt, row.PreviousStandardSignature, row.SwitchAtEnd}
}

// Rotation describes how a secret is replaced.
type Rotation struct {
	Secret      string        // the new one; "" = a random one
	Overlap     time.Duration // for which the old one signs too; 0 drops it at once
	SwitchAtEnd bool          // X-Webhook-Signature is made with the old one during the overlap
}

// RotateSecret replaces an endpoint's secret and returns the new one. A secret that was given before
// and overlaps with the previous one is a request that is repeated: it changes nothing, since the
// receiver may verify with the previous one still.
func (e *Endpoints) RotateSecret(ctx context.Context, scope Scope, id uuid.UUID, rotation Rotation) (Endpoint, string, error) {
	if rotation.Overlap < 0 || rotation.Overlap > MaxOverlap {
		return Endpoint{}, "", hub.Invalid("body.overlap_seconds", fmt.Sprintf("must be from 0 to %d", int(MaxOverlap.Seconds())))
	}
	secret, err := secretOrNew(rotation.Secret)
	if err != nil {
		return Endpoint{}, "", err
	}
	var expiresAt *time.Time
	if rotation.Overlap > 0 {
		expiresAt = new(e.now().Add(rotation.Overlap))
	}
	var row dbgen.Endpoint
	err = store.InTx(ctx, e.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select from hub.endpoints where id = $1 for update`, id); err != nil {
			return fmt.Errorf("locking the endpoint: %w", err)
		}
		queries := dbgen.New(tx)
		present, current, _, err := e.secretsOf(ctx, queries, scope, id)
		if err != nil {
			return err
		}
		if expiresAt != nil && current == secret && present.Signing.PreviousUntil != nil && e.now().Before(*present.Signing.PreviousUntil) {
			row = present.stored
			return nil
		}
		row, err = queries.RotateEndpointSecret(ctx, dbgen.RotateEndpointSecretParams{
			ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment)),
			Secret: e.box.Seal([]byte(secret), SecretContext(id)), StandardSignature: hub.IsStandardSecret(secret),
			PreviousExpiresAt: expiresAt, SwitchAtEnd: rotation.SwitchAtEnd && expiresAt != nil,
		})
		return err
	})
	if err != nil {
		return Endpoint{}, "", store.Wrap("rotating the endpoint's secret", err)
	}
	endpoint, err := e.completed(ctx, row)
	return endpoint, secret, err
}

// Secrets loads an endpoint with its secret and, where one was rotated, the previous one.
// One that is deleted or out of scope is a [hub.ErrNotFound].
func (e *Endpoints) Secrets(ctx context.Context, scope Scope, id uuid.UUID) (endpoint Endpoint, current, previous string, err error) {
	return e.secretsOf(ctx, dbgen.New(e.db), scope, id)
}

func (e *Endpoints) secretsOf(ctx context.Context, queries *dbgen.Queries, scope Scope, id uuid.UUID) (endpoint Endpoint, current, previous string, err error) {
	row, err := queries.EndpointByID(ctx, dbgen.EndpointByIDParams{ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment))})
	if err != nil {
		return Endpoint{}, "", "", store.Wrap("loading the endpoint", err)
	}
	plain, err := e.box.Open(row.Secret, SecretContext(id))
	if err != nil {
		return Endpoint{}, "", "", fmt.Errorf("opening the secret of endpoint %s: %w", id, err)
	}
	if len(row.PreviousSecret) == 0 {
		return endpointOf(row), string(plain), "", nil
	}
	old, err := e.box.Open(row.PreviousSecret, SecretContext(id))
	if err != nil {
		return Endpoint{}, "", "", fmt.Errorf("opening the previous secret of endpoint %s: %w", id, err)
	}
	return endpointOf(row), string(plain), string(old), nil
}

// SecretContext returns what an endpoint's secrets are encrypted under: see
// [seal.Box.Open].
func SecretContext(endpointID uuid.UUID) string { return "endpoint/" + endpointID.String() }

// secretOrNew returns a valid secret as it is, and a random one for "".
func secretOrNew(secret string) (string, error) {
	if secret == "" {
		return hub.NewWebhookSecret(), nil
	}
	isPlain := !strings.HasPrefix(secret, hub.SecretPrefix) && plainSecretPattern.MatchString(secret)
	if !isPlain && !hub.IsStandardSecret(secret) {
		return "", hub.Invalid("body.secret", secretRule)
	}
	return secret, nil
}
