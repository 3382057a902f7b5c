package alerts

import (
	"fmt"
	"strings"
	"time"

	"integrationhub/hub/events"
)

// description is an operational event in words.
type description struct {
	headline string // without a full stop
	explain  string // what it means, and what to do
	path     string // of the console's page about it
}

// notice returns the paragraph of a mail. consoleURL has no slash at its end.
func (d description) notice(consoleURL string) string {
	return strings.Join([]string{d.headline + ".", d.explain, consoleURL + d.path}, "\n")
}

// describe returns an operational event in words.
func describe(data events.Data) description {
	switch e := data.(type) {
	case events.EndpointFailing:
		return description{
			fmt.Sprintf("The endpoint %s of %s is failing", e.URL, ownerOf(e.HubSubject)),
			fmt.Sprintf("Every attempt since %s has failed, %d of them. Deliveries are kept and sent when it works again.", clock(e.FailingSince), e.Attempts),
			page("/endpoints/"+e.EndpointID, e.HubSubject),
		}
	case events.EndpointRecovered:
		return description{
			fmt.Sprintf("The endpoint %s of %s works again", e.URL, ownerOf(e.HubSubject)),
			fmt.Sprintf("It had been failing since %s.", clock(e.FailingSince)), page("/endpoints/"+e.EndpointID, e.HubSubject),
		}
	case events.EndpointDisabled:
		return description{
			fmt.Sprintf("The endpoint %s of %s was disabled", e.URL, ownerOf(e.HubSubject)),
			"It responded 410 Gone. Its deliveries are kept for 15 days; enable it to send them.", page("/endpoints/"+e.EndpointID, e.HubSubject),
		}
	case events.EndpointAbandoned:
		return description{
			fmt.Sprintf("The endpoint %s of %s was abandoned", e.URL, ownerOf(e.HubSubject)),
			fmt.Sprintf("It has been disabled since %s. New events make no deliveries to it until it is enabled.", clock(e.DisabledAt)), page("/endpoints/"+e.EndpointID, e.HubSubject),
		}
	case events.DeliveryParked:
		return description{
			fmt.Sprintf("A delivery of %s to %s was parked (%s)", e.ParkedType, ownerOf(e.HubSubject), e.Reason),
			"It is sent when the receiver takes deliveries again. More may follow; you get no further notice of those.", page("/deliveries/"+e.DeliveryID, e.HubSubject),
		}
	case events.IntegrationError:
		return description{
			fmt.Sprintf("The connection of %s with %s fails", ownerOf(e.HubSubject), e.Peer), "The last error: " + e.Error + ". Deliveries are kept until it works again.",
			page("/integrations/"+e.IntegrationID, e.HubSubject),
		}
	case events.IntegrationRecovered:
		return description{
			fmt.Sprintf("The connection of %s with %s works again", ownerOf(e.HubSubject), e.Peer),
			fmt.Sprintf("It had been failing since %s.", clock(e.ErrorSince)), page("/integrations/"+e.IntegrationID, e.HubSubject),
		}
	case events.KeyExpiring:
		return description{
			fmt.Sprintf("The key %q (…%s) of %s ends on %s", e.Name, e.Last4, ownerOf(e.HubSubject), clock(e.ExpiresAt)),
			"Rotate it before then: programs that use it are refused afterwards.", page("/keys", e.HubSubject),
		}
	case events.InboxWaiting:
		return description{
			fmt.Sprintf("%d received entries of %s wait for a decision", e.Waiting, ownerOf(e.HubSubject)),
			fmt.Sprintf("The oldest has waited since %s.", clock(e.OldestSince)), page("/tenants", e.HubSubject),
		}
	}
	return description{data.EventType(), "", "/overview"}
}

// ownerOf names a tenant.
func ownerOf(subject events.HubSubject) string {
	return fmt.Sprintf("%s (%s, %s)", subject.TenantName, subject.Product, subject.Environment)
}

func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

// page returns a page of the console.
func page(path string, subject events.HubSubject) string {
	if subject.Environment == "test" {
		return path + "?environment=test"
	}
	return path
}
