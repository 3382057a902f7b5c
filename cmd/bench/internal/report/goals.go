package report

// goal is a limit for a figure of the gateway.
type goal struct {
	name  string
	limit float64
	below bool // the value may not exceed the limit; else it may not be less
	unit  string
	value func(m medianResults) (value float64, measured bool)
}

// goals are judged at the end of every run.
var goals = []goal{
	{"delivered/s, of the floor's", 0.6, false, "×", deliveredRatio("gateway-closed")},
	{"CPU per 1,000 deliveries, of the floor's", 1.7, true, "×", cpuRatio("gateway-closed")},
	{"p99 end to end at the fixed rate", 15, true, "ms", func(m medianResults) (float64, bool) {
		r, ok := m["gateway-rate"]
		if !ok {
			return 0, false
		}
		return r.EndToEnd.P99, true
	}},
	{"delivered/s with 10 % of first attempts failing, of the floor's without failures", 0.4, false, "×", deliveredRatio("gateway-fail10")},
	{"CPU per 1,000 deliveries with 10 % of first attempts failing, of the floor's without failures", 1.8, true, "×", cpuRatio("gateway-fail10")},
	{"share delivered with 10 % of first attempts failing", 1, false, "", deliveredShare("gateway-fail10")},
	{"deliveries/s, 100 endpoints subscribed to one event", 12000, false, "/s", func(m medianResults) (float64, bool) {
		r, ok := m["gateway-fanout100"]
		if !ok {
			return 0, false
		}
		return r.Delivered, true
	}},
	{"p99 of 20 tenants beside an event to 1,400 hanging endpoints of another", 1000, true, "ms", figureOf("gateway-tenants", FigureTenantsBesideOne)},
	{"p99 of 20 tenants beside ten more", 1000, true, "ms", figureOf("gateway-tenants", FigureTenantsBesideTen)},
	{"publish p99 of 20 tenants beside batches of 10,000 deliveries of another", 1000, true, "ms", figureOf("gateway-batches", FigurePublishBesideBatches)},
	{"p99 end to end of these", 1000, true, "ms", figureOf("gateway-batches", FigureBesideBatches)},
	{"peak memory of the hub by then", 400, true, "MB", figureOf("gateway-batches", FigureBatchesMemory)},
	{"events accepted/s of 500 tenants with 17 configuration changes/s, of the quiet rate", 0.85, false, "×", figureOf("gateway-churn", FigureChurnRatio)},
	{"events accepted/s while one tenant repeats an update that changes nothing, of the quiet rate", 0.85, false, "×", figureOf("gateway-churn", FigureNoOpsRatio)},
	{"events settled/s of one endpoint in the order of 1,000 keys, of the rate without order", 0.5, false, "×", figureOf("gateway-order", FigureOrderedRatio)},
	{"the same with 100,000 keys", 0.4, false, "×", figureOf("gateway-order", FigureManyKeysRatio)},
	{"peak memory of the hub by then", 300, true, "MB", figureOf("gateway-order", FigureOrderMemory)},
	{"growth of the hub's memory with 200,000 events that wait in the order of 100,000 keys", 100, true, "MB", figureOf("gateway-order-backlog", FigureBacklogGrowth)},
	{"events of these that arrive before an earlier one of their key", 0, true, "", figureOf("gateway-order-backlog", FigureBacklogOutOfOrder)},
	{"events a minute over a link of two accounts, while 20,000 of an import wait", 5000, false, "/min", figureOf("gateway-link", FigureLinkRate)},
	{"a deletion among these, until the other account has it", 1000, true, "ms", figureOf("gateway-link", FigureLinkDeletion)},
	{"events settled/s with each checked against its schema, of the rate without", 0.8, false, "×", figureOf("gateway-validation", FigureCheckedRatio)},
	{"events settled/s by 300 endpoints with a filter each, of the rate without", 0.87, false, "×", figureOf("gateway-filters", FigureFilteredRatio)},
	{"webhooks received/s, of events published/s to one endpoint", 0.5, false, "×", func(m medianResults) (float64, bool) {
		r, ok := m["gateway-inbound"]
		if !ok {
			return 0, false
		}
		return r.Figures[FigureInboundPercent] / 100, true
	}},
	{"delivery-log query, worst filter's p95", 50, true, "ms", figureOf("gateway-log", FigureWorstQuery)},
	{"scheduling: a day of one professional, p95", 10, true, "ms", figureOf("scheduling", FigureDay)},
	{"scheduling: a month of 50 professionals with 10,000 appointments, p95", 50, true, "ms", figureOf("scheduling", FigureMonth)},
	{"scheduling: CPU of the engine for that month", 5, true, "ms", figureOf("scheduling", FigureEngine)},
	{"scheduling: a public booking that 50 guests want at once, p95", 100, true, "ms", figureOf("scheduling", FigureBooking)},
	{"scheduling: doubles among them", 0, true, "", figureOf("scheduling", FigureDoubleBookings)},
	{"scheduling: dashboard over 100,000 appointments, p95", 50, true, "ms", figureOf("scheduling", FigureDashboard)},
	{"clinic: a phone number among 100,000 patients, p95", 20, true, "ms", figureOf("clinic-search", FigurePhoneSearch)},
	{"clinic: the same by FHIR, p95", 20, true, "ms", figureOf("clinic-search", FigureFHIRSearch)},
	{"clinic: the users' list by name, e-mail or phone, p95", 20, true, "ms", figureOf("clinic-search", FigurePatientList)},
	{"clinic: import of 10,000 patients", 30, true, "s", figureOf("clinic-import", FigureImport)},
	{"clinic: peak memory of the hub by then", 200, true, "MB", figureOf("clinic-import", FigureImportMemory)},
	{"clinic: peak memory of the hub after a file ten times as long", 200, true, "MB", figureOf("clinic-import", FigureLargeImportMemory)},
	{"clinic: the latter, of the former", 1.3, true, "×", func(m medianResults) (float64, bool) {
		r := m["clinic-import"]
		if r == nil || r.Figures[FigureImportMemory] == 0 {
			return 0, false
		}
		return r.Figures[FigureLargeImportMemory] / r.Figures[FigureImportMemory], true
	}},
	{"messaging: received messages/s, each stored once", 490, false, "/s", figureOf("messaging-inbound", FigureInboundMessages)},
	{"messaging: CPU of 1,000 received messages", 2, true, "s", figureOf("messaging-inbound", FigureInboundMessagesCPU)},
	{"messaging: lists and searches of 200,000 tickets, worst p95", 50, true, "ms", figureOf("messaging-tickets", FigureTicketList)},
	{"messaging: the send API at 200/s, p95", 20, true, "ms", figureOf("messaging-send", FigureSend)},
	{"messaging: growth of the hub's peak memory from 1,000 to 10,000 contacts of a campaign", 16, true, "MB", figureOf("messaging-campaign", FigureCampaignGrowth)},
	{"idle memory of the hub process", 80, true, "MB", figureOf("gateway-idle", FigureIdleMemory)},
}

// figureOf returns the value of a goal that is one figure of one scenario.
func figureOf(scenario, figure string) func(medianResults) (float64, bool) {
	return func(m medianResults) (float64, bool) {
		r, ok := m[scenario]
		if !ok {
			return 0, false
		}
		value, ok := r.Figures[figure]
		return value, ok
	}
}

// deliveredRatio divides a scenario's deliveries per second by the floor's in the closed loop.
func deliveredRatio(name string) func(medianResults) (float64, bool) {
	return func(m medianResults) (float64, bool) {
		floor, gateway := m["floor-closed"], m[name]
		if floor == nil || gateway == nil || floor.Delivered == 0 {
			return 0, false
		}
		return gateway.Delivered / floor.Delivered, true
	}
}

// deliveredShare divides delivered by promised deliveries.
func deliveredShare(name string) func(medianResults) (float64, bool) {
	return func(m medianResults) (float64, bool) {
		r := m[name]
		if r == nil || r.Ledger.Expected == 0 {
			return 0, false
		}
		return float64(r.Ledger.Delivered) / float64(r.Ledger.Expected), true
	}
}

// cpuRatio divides a scenario's CPU per 1,000 deliveries by the floor's in the closed loop.
func cpuRatio(name string) func(medianResults) (float64, bool) {
	return func(m medianResults) (float64, bool) {
		floor, gateway := m["floor-closed"], m[name]
		if floor == nil || gateway == nil || floor.CPU[PartCompared] == 0 {
			return 0, false
		}
		return gateway.CPU[PartCompared] / floor.CPU[PartCompared], true
	}
}
