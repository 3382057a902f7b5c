package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// field is one part of a query with a value drawn for it.
type field func(a *logAsker) (name, value string)

// deliveriesBy asks the delivery log with some fields set.
func deliveriesBy(name string, fields ...field) question {
	return question{name: "deliveries " + name, path: func(a *logAsker) string {
		var path strings.Builder
		path.WriteString("/deliveries?limit=50")
		for _, f := range fields {
			key, value := f(a)
			path.WriteString("&" + key + "=" + url.QueryEscape(value))
		}
		return path.String()
	}}
}

// paged goes on to further pages.
func paged(q question, pages int) question {
	q.pages = pages
	q.name += ", and " + strconv.Itoa(pages) + " pages on"
	return q
}

func is(name, value string) field { return func(*logAsker) (string, string) { return name, value } }

func oneOf(name string, values ...string) field {
	return func(a *logAsker) (string, string) { return name, values[a.random.IntN(len(values))] }
}

func numbered(name string, value func(int) string, n int) field {
	return func(a *logAsker) (string, string) { return name, value(a.random.IntN(n)) }
}

// at is a moment between two ages in days.
func at(name string, newest, oldest float64) field {
	return func(a *logAsker) (string, string) {
		return name, daysAgo(newest + a.random.Float64()*(oldest-newest)).Format(time.RFC3339)
	}
}

var (
	anyTenant   = numbered("tenant_id", logTenant, logTenants)
	anyProduct  = numbered("product", logProduct, logProducts)
	anyEndpoint = numbered("endpoint_id", logEndpoint, logEndpoints)
	anyType     = numbered("event_type", logType, logTypes)
	anyStatus   = oneOf("status", "pending", "delivered", "parked", "failed")
	anyCode     = oneOf("status_code", "200", "204", "400", "404", "410", "418", "429", "500", "503")
	nobody      = "00000000-0000-7000-8003-000000000000"
)

// logQuestions are every filter alone (with values that are frequent, rare, absent
// or of the past), pairs that people ask for, and pages deep in the log.
func logQuestions() []question {
	questions := []question{
		deliveriesBy("without a filter"),
		paged(deliveriesBy("without a filter"), 20),
		deliveriesBy("tenant, any", anyTenant),
		deliveriesBy("tenant, absent", is("tenant_id", nobody)),
		deliveriesBy("product, any", anyProduct),
		deliveriesBy("product, absent", is("product", "nothing")),
		deliveriesBy("endpoint, any", anyEndpoint),
		deliveriesBy("endpoint, busy", is("endpoint_id", logEndpoint(0))),
		deliveriesBy("endpoint, 15 days ago", is("endpoint_id", logEndpoint(quietEndpoint))),
		deliveriesBy("endpoint, absent", is("endpoint_id", nobody)),
		deliveriesBy("integration, absent", is("integration_id", nobody)),
		deliveriesBy("type, any", anyType),
		deliveriesBy("type, rare", is("event_type", logType(rareType))),
		deliveriesBy("type, 15 days ago", is("event_type", logType(pastType))),
		deliveriesBy("type, once", is("event_type", logType(onceType))),
		deliveriesBy("type, absent", is("event_type", "bench.absent")),
		deliveriesBy("status, pending", is("status", "pending")),
		deliveriesBy("status, delivered", is("status", "delivered")),
		deliveriesBy("status, parked", is("status", "parked")),
		deliveriesBy("status, failed", is("status", "failed")),
		deliveriesBy("code, any", anyCode),
		deliveriesBy("code, 200", is("status_code", "200")),
		deliveriesBy("code, rare", is("status_code", "418")),
		deliveriesBy("code, absent", is("status_code", "599")),
		deliveriesBy("direction, inbound", is("direction", "inbound")),
		deliveriesBy("direction, outbound", is("direction", "outbound")),
		deliveriesBy("correlation id", func(a *logAsker) (string, string) { return "correlation_id", a.stories[a.random.IntN(len(a.stories))] }),
		deliveriesBy("correlation id, frequent", is("correlation_id", hotStory)),
		deliveriesBy("correlation id, absent", is("correlation_id", "nothing")),
		deliveriesBy("event", func(a *logAsker) (string, string) { return "event_id", a.events[a.random.IntN(len(a.events))] }),
		deliveriesBy("event, absent", is("event_id", "evt_0000000000000000")),
		deliveriesBy("q, event", func(a *logAsker) (string, string) { return "q", a.events[a.random.IntN(len(a.events))] }),
		deliveriesBy("q, delivery", func(a *logAsker) (string, string) { return "q", a.deliveries[a.random.IntN(len(a.deliveries))] }),
		deliveriesBy("q, story", func(a *logAsker) (string, string) { return "q", a.stories[a.random.IntN(len(a.stories))] }),
		deliveriesBy("since", at("since", 0, 20)),
		deliveriesBy("until", at("until", 0, 20)),
		deliveriesBy("until, before the log", at("until", 25, 30)),
	}
	return append(append(questions, logPairs()...), otherQuestions()...)
}

func logPairs() []question {
	return []question{
		deliveriesBy("tenant + status", anyTenant, anyStatus),
		deliveriesBy("endpoint + status", anyEndpoint, anyStatus),
		deliveriesBy("product + status", anyProduct, anyStatus),
		deliveriesBy("type + status", anyType, anyStatus),
		deliveriesBy("product + type", anyProduct, anyType),
		deliveriesBy("tenant + type", anyTenant, anyType),
		deliveriesBy("endpoint + type", anyEndpoint, anyType),
		deliveriesBy("tenant + code", anyTenant, anyCode),
		deliveriesBy("product + code", anyProduct, anyCode),
		deliveriesBy("endpoint + code", anyEndpoint, anyCode),
		deliveriesBy("type + code", anyType, anyCode),
		deliveriesBy("status + code", anyStatus, anyCode),
		deliveriesBy("direction + status", oneOf("direction", "inbound", "outbound"), anyStatus),
		deliveriesBy("inbound + tenant", is("direction", "inbound"), anyTenant),
		deliveriesBy("inbound + type", is("direction", "inbound"), anyType),
		deliveriesBy("tenant + since, until", anyTenant, at("since", 5, 20), at("until", 0, 5)),
		deliveriesBy("type + until", anyType, at("until", 0, 20)),
		deliveriesBy("status + until", anyStatus, at("until", 0, 20)),
		deliveriesBy("frequent correlation id + status", is("correlation_id", hotStory), anyStatus),
		deliveriesBy("frequent correlation id + tenant", is("correlation_id", hotStory), anyTenant),
		deliveriesBy("tenant + type + status", anyTenant, anyType, anyStatus),
		paged(deliveriesBy("tenant", anyTenant), 20),
		paged(deliveriesBy("type", anyType), 20),
		paged(deliveriesBy("status", oneOf("status", "parked", "failed", "pending")), 20),
	}
}

// otherQuestions are asked of the log's other readers; they have no goal.
func otherQuestions() []question {
	day := func(a *logAsker) string { return "/stats?bucket=30m" }
	return []question{
		{name: "events", path: func(*logAsker) string { return "/events?limit=50" }, pages: 20},
		{name: "events of a past day", path: func(a *logAsker) string {
			return "/events?limit=50&until=" + daysAgo(20*a.random.Float64()).Format(time.RFC3339)
		}},
		{name: "one event", path: func(a *logAsker) string { return "/events/" + a.events[a.random.IntN(len(a.events))] }},
		{name: "one delivery", path: func(a *logAsker) string { return "/deliveries/" + a.deliveries[a.random.IntN(len(a.deliveries))] }},
		{name: "stats of a day", path: day},
		{name: "stats of a day, tenant", path: func(a *logAsker) string { return day(a) + "&tenant_id=" + logTenant(a.random.IntN(logTenants)) }},
	}
}

// backlogQuestions are asked while one endpoint has a long backlog that lies deep
// in the day.
func backlogQuestions() []question {
	dead := is("endpoint_id", logEndpoint(deadEndpoint))
	tenant := is("tenant_id", logTenant(deadEndpoint%logTenants))
	pending := is("status", "pending")
	return []question{
		deliveriesBy("status, pending", pending),
		paged(deliveriesBy("status, pending", pending), 100),
		deliveriesBy("the endpoint", dead),
		deliveriesBy("the endpoint + pending", dead, pending),
		paged(deliveriesBy("the endpoint + pending", dead, pending), 20),
		deliveriesBy("the tenant", tenant),
		paged(deliveriesBy("the tenant", tenant), 20),
		deliveriesBy("the tenant + pending", tenant, pending),
		deliveriesBy("tenant + pending", anyTenant, pending),
		deliveriesBy("endpoint + pending", anyEndpoint, pending),
		deliveriesBy("product + pending", anyProduct, pending),
		deliveriesBy("type + pending", anyType, pending),
		deliveriesBy("tenant", anyTenant),
		deliveriesBy("type", anyType),
		deliveriesBy("pending + until", pending, at("until", 0, 20)),
	}
}
