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
	featurePatientSearch = "patient.search" // feature of a product that can be asked for patients
	callSearchPatients   = "search/patients"
)

// AskWhichClient asks an organization who of its clients a deleted patient is: who is written to
// about its bookings, or where that is nobody its owners and admins.
func (o *Office) AskWhichClient(ctx context.Context, payload []byte) error {
	var erasure store.Unclear
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &erasure); err != nil {
		return err
	}
	org, err := o.store.LoadOrg(ctx, erasure.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	facts := emails.Facts{Business: org.Name, Reference: erasure.RequestID}
	for _, id := range erasure.Clients {
		facts.List = append(facts.List, id.String())
	}
	return o.store.InTx(ctx, "asking whom to forget", func(tx *store.Tx) (err error) {
		recipients := org.Settings.NotifyEmails
		if len(recipients) == 0 {
			if recipients, err = tx.ManagersEmails(ctx, org.ID); err != nil {
				return err
			}
		}
		for _, address := range recipients {
			if _, err := o.sendEmail(ctx, tx, org, envelope{to: address}, emails.AmbiguousErasure, facts); err != nil {
				return err
			}
		}
		return nil
	})
}

// RefreshPatient reads a patient back whom the clinic changed: its event does not say what
// the name and the address are now. A clinic that is away is asked again later.
func (o *Office) RefreshPatient(ctx context.Context, payload []byte) error {
	var change store.Changed
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &change); err != nil {
		return err
	}
	integrations, err := o.host.Peers.List(ctx, change.Org, hub.Live)
	if err != nil {
		return err
	}
	for _, integration := range integrations {
		if integration.Product != change.Product || integration.Status == "inactive" || !slices.Contains(integration.Features, featurePatientSearch) {
			continue
		}
		raw, err := o.host.Peers.Call(ctx, integration.ID, hub.Call{Name: callSearchPatients, Query: url.Values{"phone": {change.Phone}}})
		if err != nil {
			return o.handleUnreadPatient(change, err)
		}
		var answer struct {
			Patient *struct{ ID, Name, Email string } `json:"patient"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return o.handleUnreadPatient(change, err)
		}
		answered := answer.Patient
		if answered == nil || answered.ID != change.PatientID { // somebody else with that phone
			return nil
		}
		return o.store.RefreshPatient(ctx, change, answered.Name, answered.Email)
	}
	return nil
}

// handleUnreadPatient decides what becomes of a patient who could not be read: a product that is
// away is asked again until that is of no use any more, one that refuses is not.
func (o *Office) handleUnreadPatient(change store.Changed, err error) error {
	away := errors.Is(err, hub.ErrPeer) || errors.Is(err, hub.ErrPeerTimeout) || errors.Is(err, hub.ErrUnavailable)
	if away && o.host.Now().Before(change.GiveUpAt) {
		return err
	}
	o.host.Log.Warn("a patient who changed could not be read back", "organization", change.Org, "error", err)
	return nil
}
