package deliverylog

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// filter returns a parameter of a query and a value drawn for it.
type filter func(a *querier) (name, value string)

// deliveriesQuery lists deliveries by filters.
func deliveriesQuery(name string, fields ...filter) query {
	return query{name: "deliveries " + name, path: func(a *querier) string {
		var path strings.Builder
		path.WriteString("/deliveries?limit=50")
		for _, f := range fields {
			key, value := f(a)
			path.WriteString("&" + key + "=" + url.QueryEscape(value))
		}
		return path.String()
	}}
}

// paged fetches further pages of a query.
func paged(q query, pages int) query {
	q.pages = pages
	q.name += ", and " + strconv.Itoa(pages) + " pages on"
	return q
}

// fixedValue is a filter with one value.
func fixedValue(name, value string) filter {
	return func(*querier) (string, string) { return name, value }
}

// anyValue is a filter with one of some values.
func anyValue(name string, values ...string) filter {
	return func(a *querier) (string, string) { return name, values[a.random.IntN(len(values))] }
}

// anyNumbered is a filter by the value of a number below n.
func anyNumbered(name string, value func(int) string, n int) filter {
	return func(a *querier) (string, string) { return name, value(a.random.IntN(n)) }
}

// timeBetween is a filter by a time that is between two numbers of days ago.
func timeBetween(name string, newest, oldest float64) filter {
	return func(a *querier) (string, string) {
		return name, daysAgo(newest + a.random.Float64()*(oldest-newest)).Format(time.RFC3339)
	}
}

var (
	anyTenant   = anyNumbered("tenant_id", tenantID, tenantCount)
	anyProduct  = anyNumbered("product", productName, productCount)
	anyEndpoint = anyNumbered("endpoint_id", endpointID, endpointCount)
	anyType     = anyNumbered("event_type", eventType, typeCount)
	anyStatus   = anyValue("status", "pending", "delivered", "parked", "failed")
	anyCode     = anyValue("status_code", "200", "204", "400", "404", "410", "418", "429", "500", "503")
	absentID    = "00000000-0000-7000-8003-000000000000"
)

// filterQueries are every filter alone (with frequent, rare, absent and past values),
// usual pairs, and pages deep in the log.
func filterQueries() []query {
	questions := []query{
		deliveriesQuery("without a filter"),
		paged(deliveriesQuery("without a filter"), 20),
		deliveriesQuery("tenant, any", anyTenant),
		deliveriesQuery("tenant, absent", fixedValue("tenant_id", absentID)),
		deliveriesQuery("product, any", anyProduct),
		deliveriesQuery("product, absent", fixedValue("product", "nothing")),
		deliveriesQuery("endpoint, any", anyEndpoint),
		deliveriesQuery("endpoint, busy", fixedValue("endpoint_id", endpointID(0))),
		deliveriesQuery("endpoint, 15 days ago", fixedValue("endpoint_id", endpointID(pastEndpoint))),
		deliveriesQuery("endpoint, absent", fixedValue("endpoint_id", absentID)),
		deliveriesQuery("integration, absent", fixedValue("integration_id", absentID)),
		deliveriesQuery("type, any", anyType),
		deliveriesQuery("type, rare", fixedValue("event_type", eventType(rareType))),
		deliveriesQuery("type, 15 days ago", fixedValue("event_type", eventType(pastType))),
		deliveriesQuery("type, once", fixedValue("event_type", eventType(onceType))),
		deliveriesQuery("type, absent", fixedValue("event_type", "bench.absent")),
		deliveriesQuery("status, pending", fixedValue("status", "pending")),
		deliveriesQuery("status, delivered", fixedValue("status", "delivered")),
		deliveriesQuery("status, parked", fixedValue("status", "parked")),
		deliveriesQuery("status, failed", fixedValue("status", "failed")),
		deliveriesQuery("code, any", anyCode),
		deliveriesQuery("code, 200", fixedValue("status_code", "200")),
		deliveriesQuery("code, rare", fixedValue("status_code", "418")),
		deliveriesQuery("code, absent", fixedValue("status_code", "599")),
		deliveriesQuery("direction, inbound", fixedValue("direction", "inbound")),
		deliveriesQuery("direction, outbound", fixedValue("direction", "outbound")),
		deliveriesQuery("correlation id", func(a *querier) (string, string) {
			return "correlation_id", a.correlationIDs[a.random.IntN(len(a.correlationIDs))]
		}),
		deliveriesQuery("correlation id, frequent", fixedValue("correlation_id", frequentCorrelationID)),
		deliveriesQuery("correlation id, absent", fixedValue("correlation_id", "nothing")),
		deliveriesQuery("event", func(a *querier) (string, string) { return "event_id", a.events[a.random.IntN(len(a.events))] }),
		deliveriesQuery("event, absent", fixedValue("event_id", "evt_0000000000000000")),
		deliveriesQuery("q, event", func(a *querier) (string, string) { return "q", a.events[a.random.IntN(len(a.events))] }),
		deliveriesQuery("q, delivery", func(a *querier) (string, string) { return "q", a.deliveries[a.random.IntN(len(a.deliveries))] }),
		deliveriesQuery("q, story", func(a *querier) (string, string) { return "q", a.correlationIDs[a.random.IntN(len(a.correlationIDs))] }),
		deliveriesQuery("since", timeBetween("since", 0, 20)),
		deliveriesQuery("until", timeBetween("until", 0, 20)),
		deliveriesQuery("until, before the log", timeBetween("until", 25, 30)),
	}
	return append(append(questions, pairQueries()...), otherQueries()...)
}

// pairQueries combine filters.
func pairQueries() []query {
	return []query{
		deliveriesQuery("tenant + status", anyTenant, anyStatus),
		deliveriesQuery("endpoint + status", anyEndpoint, anyStatus),
		deliveriesQuery("product + status", anyProduct, anyStatus),
		deliveriesQuery("type + status", anyType, anyStatus),
		deliveriesQuery("product + type", anyProduct, anyType),
		deliveriesQuery("tenant + type", anyTenant, anyType),
		deliveriesQuery("endpoint + type", anyEndpoint, anyType),
		deliveriesQuery("tenant + code", anyTenant, anyCode),
		deliveriesQuery("product + code", anyProduct, anyCode),
		deliveriesQuery("endpoint + code", anyEndpoint, anyCode),
		deliveriesQuery("type + code", anyType, anyCode),
		deliveriesQuery("status + code", anyStatus, anyCode),
		deliveriesQuery("direction + status", anyValue("direction", "inbound", "outbound"), anyStatus),
		deliveriesQuery("inbound + tenant", fixedValue("direction", "inbound"), anyTenant),
		deliveriesQuery("inbound + type", fixedValue("direction", "inbound"), anyType),
		deliveriesQuery("tenant + since, until", anyTenant, timeBetween("since", 5, 20), timeBetween("until", 0, 5)),
		deliveriesQuery("type + until", anyType, timeBetween("until", 0, 20)),
		deliveriesQuery("status + until", anyStatus, timeBetween("until", 0, 20)),
		deliveriesQuery("frequent correlation id + status", fixedValue("correlation_id", frequentCorrelationID), anyStatus),
		deliveriesQuery("frequent correlation id + tenant", fixedValue("correlation_id", frequentCorrelationID), anyTenant),
		deliveriesQuery("tenant + type + status", anyTenant, anyType, anyStatus),
		paged(deliveriesQuery("tenant", anyTenant), 20),
		paged(deliveriesQuery("type", anyType), 20),
		paged(deliveriesQuery("status", anyValue("status", "parked", "failed", "pending")), 20),
	}
}

// otherQueries are of events and statistics; they have no goal.
func otherQueries() []query {
	day := func(a *querier) string { return "/stats?bucket=30m" }
	return []query{
		{name: "events", path: func(*querier) string { return "/events?limit=50" }, pages: 20},
		{name: "events of a past day", path: func(a *querier) string {
			return "/events?limit=50&until=" + daysAgo(20*a.random.Float64()).Format(time.RFC3339)
		}},
		{name: "one event", path: func(a *querier) string { return "/events/" + a.events[a.random.IntN(len(a.events))] }},
		{name: "one delivery", path: func(a *querier) string { return "/deliveries/" + a.deliveries[a.random.IntN(len(a.deliveries))] }},
		{name: "stats of a day", path: day},
		{name: "stats of a day, tenant", path: func(a *querier) string { return day(a) + "&tenant_id=" + tenantID(a.random.IntN(tenantCount)) }},
	}
}

// backlogQueries are sent while one endpoint has a long backlog from early in the day.
func backlogQueries() []query {
	dead := fixedValue("endpoint_id", endpointID(deadEndpoint))
	tenant := fixedValue("tenant_id", tenantID(deadEndpoint%tenantCount))
	pending := fixedValue("status", "pending")
	return []query{
		deliveriesQuery("status, pending", pending),
		paged(deliveriesQuery("status, pending", pending), 100),
		deliveriesQuery("the endpoint", dead),
		deliveriesQuery("the endpoint + pending", dead, pending),
		paged(deliveriesQuery("the endpoint + pending", dead, pending), 20),
		deliveriesQuery("the tenant", tenant),
		paged(deliveriesQuery("the tenant", tenant), 20),
		deliveriesQuery("the tenant + pending", tenant, pending),
		deliveriesQuery("tenant + pending", anyTenant, pending),
		deliveriesQuery("endpoint + pending", anyEndpoint, pending),
		deliveriesQuery("product + pending", anyProduct, pending),
		deliveriesQuery("type + pending", anyType, pending),
		deliveriesQuery("tenant", anyTenant),
		deliveriesQuery("type", anyType),
		deliveriesQuery("pending + until", pending, timeBetween("until", 0, 20)),
	}
}
