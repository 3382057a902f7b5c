package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// LeaveURL is the page on which a client ends being written to; a POST to it does so.
// It names the organization by its id: slugs change, and may become somebody else's.
func (d *Desk) LeaveURL(o store.Org, client uuid.UUID) string {
	return d.host.URLs.Public + "/book/" + o.ID.String() + "/unsubscribe?token=" + url.QueryEscape(d.leaveToken(o, client))
}

// leaveToken is good for ever: a letter may be read years later.
func (d *Desk) leaveToken(o store.Org, client uuid.UUID) string {
	mac := hmac.New(sha256.New, d.host.Sealer.Derive("unsubscribe"))
	mac.Write(o.ID[:])
	mac.Write(client[:])
	return base64.RawURLEncoding.EncodeToString(append(client[:], mac.Sum(nil)...))
}

// Letters finds the organization whose letters a [Desk.LeaveURL] is about: by its id, or
// as [Desk.Organization] does.
func (d *Desk) Letters(ctx context.Context, name string) (store.Org, error) {
	if id, err := uuid.Parse(name); err == nil {
		if o, err := d.store.Org(ctx, id); !errors.Is(err, hub.ErrNotFound) {
			return o, err
		}
	}
	return d.Organization(ctx, name)
}

// Leaving tells whom a token of [Desk.LeaveURL] is of; [hub.ErrNotFound] for one that
// is none.
func (d *Desk) Leaving(o store.Org, token string) (client uuid.UUID, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err == nil && len(raw) == 16+sha256.Size {
		client = uuid.UUID(raw[:16])
	}
	if client == uuid.Nil || !hmac.Equal([]byte(d.leaveToken(o, client)), []byte(token)) {
		return uuid.Nil, hub.Errorf(hub.ErrNotFound, "invalid_token", "Invalid token")
	}
	return client, nil
}

// Leave ends that a client is written to. Again, or for who is not there any more, is no
// error.
func (d *Desk) Leave(ctx context.Context, o store.Org, token string) error {
	client, err := d.Leaving(o, token)
	if err != nil {
		return err
	}
	return d.store.InTx(ctx, "leaving a list", func(tx *store.Tx) error {
		_, err := tx.WithdrawConsent(ctx, dbgen.WithdrawConsentParams{OrgID: o.ID, ID: client, Now: tx.Now()})
		return err
	})
}
