package api

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/calendar"
)

// calendarOutput is an .ics file.
type calendarOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Cache       string `header:"Cache-Control"`
	Robots      string `header:"X-Robots-Tag"`
	Body        []byte
}

func icsOf(name string, file []byte) *calendarOutput {
	return &calendarOutput{
		ContentType: calendar.Publish.MediaType(), Disposition: `attachment; filename="` + name + `"`, Cache: "private, no-store", Robots: "noindex", Body: file,
	}
}

// publicCalendar gives a client what was booked for a calendar of their own.
func (a *API) publicCalendar(ctx context.Context, in *publicTokenInput) (*calendarOutput, error) {
	o, err := a.desk.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	booked, err := a.desk.Appointment(ctx, o, in.Token)
	if err != nil {
		return nil, err
	}
	file, name := a.desk.CalendarFile(o, booked)
	return icsOf(name, file), nil
}

type feedInput struct {
	ID   uuid.UUID `path:"id" format:"uuid"`
	File string    `path:"file" maxLength:"60" doc:"The secret, and .ics"`
}

// calendarFeed gives a professional's calendar to whoever has its address.
func (a *API) calendarFeed(ctx context.Context, in *feedInput) (*calendarOutput, error) {
	file, err := a.desk.Feed(ctx, in.ID, strings.TrimSuffix(in.File, ".ics"))
	return icsOf("calendar.ics", file), err
}
