package api

import (
	"time"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

func toPage(p rest.PageParams) store.Page { return store.Page{Limit: p.PerPage, Offset: p.Offset()} }

// timeOrNil returns an instant in UTC, nil for the zero time.
func timeOrNil(t time.Time) *time.Time {
	if t.Year() <= 1 {
		return nil
	}
	t = care.ClampInstant(t)
	return &t
}

func clampOptionalTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return timeOrNil(*t)
}

func formatDate(t time.Time) string { return t.Format(time.DateOnly) }

// formatOptionalTime returns a time in RFC 3339, "" for nil.
func formatOptionalTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}
