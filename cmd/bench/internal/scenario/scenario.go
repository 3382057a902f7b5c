// Package scenario has the table of scenarios and runs them in rounds.
package scenario

import (
	"context"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/scenario/clinic"
	"integrationhub/cmd/bench/internal/scenario/deliverylog"
	"integrationhub/cmd/bench/internal/scenario/messaging"
	"integrationhub/cmd/bench/internal/scenario/scheduling"
	"integrationhub/cmd/bench/internal/scenario/throughput"
	"integrationhub/cmd/bench/internal/stage"
)

// Scenario is one measurement.
type Scenario struct {
	Name        string
	Description string
	once        bool // measured in the first round only, unless it is compared with a version before
	measure     func(ctx context.Context, b *stage.Run) (*report.Result, error)
}

// All are the scenarios, in the order in which they run.
var All = []Scenario{
	{"floor-closed", "the floor, as fast as it responds", false, throughput.MeasureLoad(throughput.Floor, throughput.ClosedLoop)},
	{"gateway-closed", "the gateway, as fast as it responds", false, throughput.MeasureLoad(throughput.Gateway, throughput.ClosedLoop)},
	{"floor-fail10", "the same, 10 % of first attempts get a 500", false, throughput.MeasureLoad(throughput.Floor, throughput.FailingTenth)},
	{"gateway-fail10", "the same, 10 % of first attempts get a 500", false, throughput.MeasureLoad(throughput.Gateway, throughput.FailingTenth)},
	{"floor-rate", "the floor at a fixed rate", true, throughput.MeasureLoad(throughput.Floor, throughput.FixedRate)},
	{"gateway-rate", "the gateway at a fixed rate", true, throughput.MeasureLoad(throughput.Gateway, throughput.FixedRate)},
	{"gateway-fanout100", "100 endpoints subscribed to one event", false, throughput.MeasureLoad(throughput.Gateway, throughput.FanOut)},
	{"gateway-tenants", "20 tenants at 200 events/s beside 1,400 hanging endpoints of another", true, throughput.MeasureTenants},
	{"gateway-batches", "20 tenants at 200 events/s beside batches of 10,000 deliveries of another", true, throughput.MeasureBatches},
	{"gateway-churn", "500 tenants publish while configuration changes", false, throughput.MeasureChurn},
	{"gateway-order", "one endpoint without order, and in the order of 1,000 and of 100,000 keys", false, throughput.MeasureOrder},
	{"gateway-order-backlog", "events of 100,000 keys that wait for an ordered endpoint, and are then sent", true, throughput.MeasureOrderBacklog},
	{"gateway-validation", "one endpoint with a product's validation off, and with reject by two schemas", false, throughput.MeasureValidation},
	{"gateway-filters", "300 endpoints subscribed to one event, without filters, with one each, and with one that is true", false, throughput.MeasureFilters},
	{"gateway-link", "a deletion among 20,000 events of an import, over a link of two accounts", true, throughput.MeasureLink},
	{"gateway-inbound", "webhooks of a peer to a hosted product, and publishing in turn with them", false, throughput.MeasureInbound},
	{"gateway-log", "queries of a delivery log of 2,000,000", true, deliverylog.Measure},
	{"scheduling", "free times, figures and contended bookings of the scheduling service", true, scheduling.Measure},
	{"clinic-search", "searches among a clinic's 100,000 patients", true, clinic.MeasureSearch},
	{"clinic-import", "a clinic imports 10,000 patients", true, clinic.MeasureImport},
	{"messaging-inbound", "500 messages/s of phones to a company", true, messaging.MeasureInbound},
	{"messaging-tickets", "lists and searches of 200,000 tickets with 2,000,000 messages", true, messaging.MeasureTickets},
	{"messaging-send", "the send API at 200 messages/s", true, messaging.MeasureSend},
	{"messaging-campaign", "a campaign to 10,000 contacts", true, messaging.MeasureCampaign},
	{"gateway-idle", "the gateway with nothing to do", true, throughput.MeasureIdle},
}
