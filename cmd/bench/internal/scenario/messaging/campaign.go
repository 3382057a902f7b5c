package messaging

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// Sizes.
const (
	campaignContacts = 10_000
	campaignWarmUp   = 1_000            // messages after which the hub's memory is compared
	campaignPoll     = time.Second      // between two readings of the campaign
	campaignLimit    = 10 * time.Minute // for all messages
)

// insertAudience adds contacts with phones to a list. No number ends in 0000: the simulated
// network has no such phones.
const insertAudience = `
	with people as (select n, (5511970000000 + n + n / 10000)::text as number from generate_series(1, $3::int) n),
	phones as (insert into messaging.sandbox_phones (number, name) select number, 'Contact ' || n from people),
	contacts as (
		insert into messaging.contacts (company_id, name, number, number_key) select $1::bigint, 'Contact ' || n, number, number from people returning id)
	insert into messaging.contact_list_items (company_id, list_id, contact_id) select $1::bigint, $2::bigint, id from contacts`

// campaignState is what the API shows of a campaign.
type campaignState struct {
	Status   string         `json:"status"`
	Counters map[string]int `json:"counters"`
}

// MeasureCampaign measures a campaign to 10,000 contacts: its rate, how the hub's memory grows
// after the first thousand, and that each contact got it once. Meanwhile the counters may not
// exceed what the network has accepted.
func MeasureCampaign(ctx context.Context, run *stage.Run) (*report.Result, error) {
	return measure(ctx, run, func(c *company, result *report.Result) error {
		path, err := c.createCampaign(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := c.post(ctx, path+"/start", c.user, nil, nil); err != nil {
			return err
		}
		var warm usage.Memory
		tick := time.NewTicker(campaignPoll)
		defer tick.Stop()
		for state := (campaignState{}); state.Status != "finished"; <-tick.C {
			if time.Since(began) > campaignLimit {
				return fmt.Errorf("the campaign has not finished after %s: %v", campaignLimit, state)
			}
			if state, err = c.readCampaign(ctx, path); err != nil {
				return err
			}
			if warm.Peak == 0 && state.Counters["sent"] >= campaignWarmUp {
				warm, _ = usage.ReadMemory(c.hubPID)
			}
		}
		result.Figures[report.FigureCampaign] = campaignContacts / time.Since(began).Seconds()
		if memory, ok := usage.ReadMemory(c.hubPID); ok {
			result.Figures[report.FigureCampaignMemory] = usage.Megabytes(memory.Peak)
			result.Figures[report.FigureCampaignGrowth] = usage.Megabytes(memory.Peak - warm.Peak)
		}
		return c.requireCampaignSent(ctx, path)
	})
}

// createCampaign makes a campaign to a list of contacts, and returns its path.
func (c *company) createCampaign(ctx context.Context) (path string, err error) {
	var list, campaign struct {
		ID int64 `json:"id"`
	}
	if err := c.post(ctx, "/contact-lists", c.user, map[string]any{"name": "Everybody"}, &list); err != nil {
		return "", err
	}
	if _, err := c.db.Exec(ctx, insertAudience, c.id, list.ID, campaignContacts); err != nil {
		return "", fmt.Errorf("making contacts: %w", err)
	}
	body := map[string]any{"name": "Offers", "message1": "Hi {nome}", "whatsappId": c.connection, "contactListId": list.ID, "messageInterval": 0, "longerIntervalAfter": 0}
	err = c.post(ctx, "/campaigns", c.user, body, &campaign)
	return fmt.Sprintf("/campaigns/%d", campaign.ID), err
}

// readCampaign reads a campaign, and then what the network has accepted of it.
func (c *company) readCampaign(ctx context.Context, path string) (state campaignState, err error) {
	if err := c.call(ctx, http.MethodGet, path, c.user, nil, &state); err != nil {
		return state, err
	}
	var accepted int
	if err := c.db.QueryRow(ctx, `select count(*) from messaging.sandbox_messages`).Scan(&accepted); err != nil {
		return state, fmt.Errorf("counting what was sent: %w", err)
	}
	if sent := state.Counters["sent"]; sent > accepted {
		return state, errors.Join(reconcile.ErrUnsound, fmt.Errorf("the campaign counts %d messages as sent when the network has %d", sent, accepted))
	}
	return state, nil
}

// requireCampaignSent returns an error unless the counters are exact and each contact has the
// message once.
func (c *company) requireCampaignSent(ctx context.Context, path string) error {
	state, err := c.readCampaign(ctx, path)
	if err != nil {
		return err
	}
	errs := []error{c.requireCounts(ctx, `select
		(select count(*) from messaging.sandbox_messages) as messages,
		(select count(distinct recipient) from messaging.sandbox_messages) as recipients,
		(select count(distinct body) from messaging.sandbox_messages) as texts`,
		nil, map[string]int{"messages": campaignContacts, "recipients": campaignContacts, "texts": campaignContacts})}
	if state.Counters["total"] != campaignContacts || state.Counters["sent"] != campaignContacts {
		errs = append(errs, fmt.Errorf("the counters are %v, not %d in total and sent", state.Counters, campaignContacts))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(reconcile.ErrUnsound, err)
	}
	return nil
}
