package rest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

func TestFieldErrors(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		check func(*rest.FieldErrors)
		valid bool
	}{
		"an address":          {func(f *rest.FieldErrors) { f.CheckEmail(text("ana@example.com"), "x") }, true},
		"no address at all":   {func(f *rest.FieldErrors) { f.CheckEmail(nil, "x") }, true},
		"a name with it":      {func(f *rest.FieldErrors) { f.CheckEmail(text("Ana <ana@example.com>"), "x") }, false},
		"two addresses":       {func(f *rest.FieldErrors) { f.CheckEmail(text("a@example.com, b@example.com"), "x") }, false},
		"a host alone":        {func(f *rest.FieldErrors) { f.CheckEmail(text("ana@localhost"), "x") }, false},
		"a dot at the end":    {func(f *rest.FieldErrors) { f.CheckEmail(text("ana@example."), "x") }, false},
		"a long address":      {func(f *rest.FieldErrors) { f.CheckEmail(text(strings.Repeat("a", 250)+"@example.com"), "x") }, false},
		"a link":              {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/a?b"), "x") }, true},
		"a script":            {func(f *rest.FieldErrors) { f.CheckURL(text("javascript:alert(1)"), "x") }, false},
		"a link with a user":  {func(f *rest.FieldErrors) { f.CheckURL(text("https://u:p@example.com"), "x") }, false},
		"a path":              {func(f *rest.FieldErrors) { f.CheckURL(text("/a"), "x") }, false},
		"a link with letters": {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/á%20b"), "x") }, true},
		"a link with a space": {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/a b"), "x") }, false},
		"a space that stays":  {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/a\u00a0b"), "x") }, false},
		"the end of a line":   {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/a\u2028b"), "x") }, false},
		"a mark of an order":  {func(f *rest.FieldErrors) { f.CheckURL(text("https://example.com/a\ufeffb"), "x") }, false},
		"a zone":              {func(f *rest.FieldErrors) { f.CheckTimeZone("America/Sao_Paulo", "x") }, true},
		"the machine's zone":  {func(f *rest.FieldErrors) { f.CheckTimeZone("Local", "x") }, false},
		"the machine's file":  {func(f *rest.FieldErrors) { f.CheckTimeZone("localtime", "x") }, false},
		"a rule":              {func(f *rest.FieldErrors) { f.CheckTimeZone("posixrules", "x") }, false},
		"nowhere":             {func(f *rest.FieldErrors) { f.CheckTimeZone("Factory", "x") }, false},
		"with leap seconds":   {func(f *rest.FieldErrors) { f.CheckTimeZone("right/America/Sao_Paulo", "x") }, false},
		"of a directory":      {func(f *rest.FieldErrors) { f.CheckTimeZone("posix/America/Sao_Paulo", "x") }, false},
		"an abbreviation":     {func(f *rest.FieldErrors) { f.CheckTimeZone("EST5EDT", "x") }, false},
		"no place":            {func(f *rest.FieldErrors) { f.CheckTimeZone("America/Olympus", "x") }, false},
		"a region":            {func(f *rest.FieldErrors) { f.CheckTimeZone("America", "x") }, false},
		"everywhere":          {func(f *rest.FieldErrors) { f.CheckTimeZone("UTC", "x") }, true},
		"a place long named":  {func(f *rest.FieldErrors) { f.CheckTimeZone("Brazil/East", "x") }, true},
		"no zone":             {func(f *rest.FieldErrors) { f.CheckTimeZone("", "x") }, false},
		"characters":          {func(f *rest.FieldErrors) { f.CheckLength("ééé", "x", 1, 3) }, true},
		"too many characters": {func(f *rest.FieldErrors) { f.CheckLength("éééé", "x", 1, 3) }, false},
		"none":                {func(f *rest.FieldErrors) { f.CheckLength("", "x", 1, 3) }, false},
		"nothing to see":      {func(f *rest.FieldErrors) { f.CheckLength("\u200b \ufeff\x01\u202e", "x", 1, 9) }, false},
		"nothing needed":      {func(f *rest.FieldErrors) { f.CheckLength("", "x", 0, 9) }, true},
		"a name":              {func(f *rest.FieldErrors) { f.CheckName("Zoë O'Hara-Łuk\u200d\u0915", "x", 20) }, true},
		"a long name":         {func(f *rest.FieldErrors) { f.CheckName("éééé", "x", 3) }, false},
		"a name of spaces":    {func(f *rest.FieldErrors) { f.CheckName(" \u00a0", "x", 9) }, false},
		"a name of two lines": {func(f *rest.FieldErrors) { f.CheckName("a\nb", "x", 9) }, false},
		"an old line end":     {func(f *rest.FieldErrors) { f.CheckName("a\u2028b", "x", 9) }, false},
		"a name turned round": {func(f *rest.FieldErrors) { f.CheckName("a\u202eb", "x", 9) }, false},
		"a name with a mark":  {func(f *rest.FieldErrors) { f.CheckName("\ufeffAna", "x", 9) }, false},
		"a day":               {func(f *rest.FieldErrors) { f.ParseDate("2024-02-29", "x") }, true},
		"no such day":         {func(f *rest.FieldErrors) { f.ParseDate("2023-02-29", "x") }, false},
		"a day long ago":      {func(f *rest.FieldErrors) { f.ParseDate("1899-12-31", "x") }, false},
		"an instant":          {func(f *rest.FieldErrors) { f.ParseTime("2026-03-02T09:00-03:00", "x") }, true},
		"an instant anywhere": {func(f *rest.FieldErrors) { f.ParseTime("2026-03-02T09:00:00", "x") }, false},
	} {
		var f rest.FieldErrors
		test.check(&f)
		require.Equal(t, test.valid, f.Err() == nil, name)
	}
	for want, check := range map[string]func(*rest.FieldErrors){
		"x must not be empty":                                    func(f *rest.FieldErrors) { f.CheckLength("", "x", 1, 3) },
		"x must have at most 3 characters":                       func(f *rest.FieldErrors) { f.CheckLength("éééé", "x", 1, 3) },
		"x must have 8 to 72 characters":                         func(f *rest.FieldErrors) { f.CheckLength("short", "x", 8, 72) },
		"x must be YYYY-MM-DD":                                   func(f *rest.FieldErrors) { f.ParseDate("17/05/1990", "x") },
		"x must be from 1900-01-01 to 9998-12-31":                func(f *rest.FieldErrors) { f.ParseDate("1850-01-01", "x") },
		"x must be from 1900 to 9998":                            func(f *rest.FieldErrors) { f.ParseTime("9999-01-01T00:00:00Z", "x") },
		"x must be an IANA time zone, such as America/Sao_Paulo": func(f *rest.FieldErrors) { f.CheckTimeZone("Mars/Olympus", "x") },
	} {
		var f rest.FieldErrors
		check(&f)
		var hubErr *hub.Error
		require.ErrorAs(t, f.Err(), &hubErr)
		require.Equal(t, want, hubErr.Detail)
	}
	var f rest.FieldErrors
	require.Equal(t, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), f.ParseTime("2026-03-02T09:00:00-03:00", "x").UTC())
	require.NoError(t, f.Err())
	f.Check(false, "body.a", "is required")
	f.Check(false, "body.b", "is too long")
	var hubErr *hub.Error
	require.ErrorAs(t, f.Err(), &hubErr)
	require.ErrorIs(t, hubErr, hub.ErrInvalid)
	require.Equal(t, "body.a is required; body.b is too long", hubErr.Detail)
	require.Len(t, hubErr.Fields, 2)
}
