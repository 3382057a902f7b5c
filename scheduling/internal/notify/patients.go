package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
)

const (
	findsPatients  = "patient.search" // feature of a product that can be asked for patients
	searchPatients = "search/patients"
)

// unclear asks an organization who of its clients a deleted patient is: who is written to
// about its bookings, or where that is nobody its owners and admins.
func (o *Office) unclear(ctx context.Context, payload []byte) error {
	var u store.Unclear
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &u); err != nil {
		return err
	}
	org, err := o.store.Org(ctx, u.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f := emails.Facts{Business: org.Name, Reference: u.Request}
	for _, id := range u.Clients {
		f.List = append(f.List, id.String())
	}
	return o.store.InTx(ctx, "asking whom to forget", func(tx *store.Tx) (err error) {
		asked := org.Settings.NotifyEmails
		if len(asked) == 0 {
			if asked, err = tx.ManagersEmails(ctx, org.ID); err != nil {
				return err
			}
		}
		for _, to := range asked {
			if _, err := o.send(ctx, tx, org, envelope{to: to}, emails.Unclear, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// patients reads a patient back whom the clinic changed: its event does not say what
// the name and the address are now. A clinic that is away is asked again later.
func (o *Office) patients(ctx context.Context, payload []byte) error {
	var c store.Changed
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	list, err := o.host.Peers.List(ctx, c.Org, hub.Live)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.Product != c.Product || one.Status == "inactive" || !slices.Contains(one.Features, findsPatients) {
			continue
		}
		raw, err := o.host.Peers.Call(ctx, one.ID, hub.Call{Name: searchPatients, Query: url.Values{"phone": {c.Phone}}})
		if err != nil {
			return o.unread(c, err)
		}
		var answer struct {
			Patient *struct{ ID, Name, Email string } `json:"patient"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return o.unread(c, err)
		}
		p := answer.Patient
		if p == nil || p.ID != c.Patient { // somebody else with that phone
			return nil
		}
		return o.store.Reread(ctx, c, p.Name, p.Email)
	}
	return nil
}

// unread decides what becomes of a patient who could not be read: a product that is
// away is asked again until that is of no use any more, one that refuses is not.
func (o *Office) unread(c store.Changed, err error) error {
	away := errors.Is(err, hub.ErrPeer) || errors.Is(err, hub.ErrPeerTimeout) || errors.Is(err, hub.ErrUnavailable)
	if away && o.host.Now().Before(c.Until) {
		return err
	}
	o.host.Log.Warn("a patient who changed could not be read back", "organization", c.Org, "error", err)
	return nil
}
