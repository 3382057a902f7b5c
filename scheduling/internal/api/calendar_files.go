package api

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/calendar"
)

// calendarOutput is the response with an .ics file.
type calendarOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Cache       string `header:"Cache-Control"`
	Robots      string `header:"X-Robots-Tag"`
	Body        []byte
}

func toCalendarOutput(name string, file []byte) *calendarOutput {
	return &calendarOutput{
		ContentType: calendar.Publish.MediaType(), Disposition: `attachment; filename="` + name + `"`, Cache: "private, no-store", Robots: "noindex", Body: file,
	}
}

// getCalendarByToken returns the client's appointment as an .ics file.
func (a *API) getCalendarByToken(ctx context.Context, in *publicTokenInput) (*calendarOutput, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	booked, err := a.publicBooking.BookingByToken(ctx, org, in.Token)
	if err != nil {
		return nil, err
	}
	file, name := a.publicBooking.CalendarFile(org, booked)
	return toCalendarOutput(name, file), nil
}

type feedInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Professional whose calendar it is"`
	File string    `path:"file" maxLength:"60" doc:"The secret, and .ics"`
}

// getCalendarFeed returns a professional's calendar. The secret in the address is the only
// credential.
func (a *API) getCalendarFeed(ctx context.Context, in *feedInput) (*calendarOutput, error) {
	file, err := a.publicBooking.Feed(ctx, in.ID, strings.TrimSuffix(in.File, ".ics"))
	return toCalendarOutput("calendar.ics", file), err
}
