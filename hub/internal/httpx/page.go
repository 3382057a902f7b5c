package httpx

import (
	"encoding/base64"

	"integrationhub/hub"
)

// Sizes of a page of a list, in items.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// cursorMax is the longest cursor that is looked at, in characters.
const cursorMax = 512

// PageQuery is the part of a list's query that asks for a page; huma inputs embed
// it, and huma answers 422 for a limit outside its bounds.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Items per page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before; absent for the first page"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items" nullable:"false" doc:"The items of this page"`
	NextCursor *string `json:"next_cursor" doc:"Give it as cursor to get the next page; null on the last one"`
}

// PageOf makes a page of the first limit rows. The caller asks its store for
// limit+1 rows: the extra one only tells that there is a next page, whose cursor
// is made of the last item's key by cursorOf (see [EncodeCursor]).
func PageOf[T any](rows []T, limit int, cursorOf func(last T) []byte) Page[T] {
	if rows == nil {
		rows = []T{}
	}
	if len(rows) <= limit {
		return Page[T]{Items: rows}
	}
	next := EncodeCursor(cursorOf(rows[limit-1]))
	return Page[T]{Items: rows[:limit], NextCursor: &next}
}

// EncodeCursor makes an opaque cursor of the key where the next page begins.
func EncodeCursor(key []byte) string { return cursorEncoding.EncodeToString(key) }

// DecodeCursor gives the key of a cursor, nil for "" (the first page). Anything
// that [EncodeCursor] did not make is a 422 with the code "invalid_cursor".
func DecodeCursor(cursor string) ([]byte, error) {
	if cursor == "" {
		return nil, nil
	}
	if len(cursor) > cursorMax {
		return nil, InvalidCursor()
	}
	key, err := cursorEncoding.DecodeString(cursor)
	if err != nil || cursorEncoding.EncodeToString(key) != cursor {
		return nil, InvalidCursor()
	}
	return key, nil
}

// InvalidCursor is the 422 for a cursor that does not fit its list.
func InvalidCursor() *hub.Error {
	err := hub.Invalid("query.cursor", "is not a cursor of this list")
	err.Code = "invalid_cursor"
	return err
}

// cursorEncoding is base64url without padding, refusing stray trailing bits.
var cursorEncoding = base64.RawURLEncoding.Strict()
