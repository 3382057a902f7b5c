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

// CursorMax is the maximum length of a cursor, in characters.
const CursorMax = 512

// PageQuery holds the query parameters of a page. huma inputs embed it; huma answers 422
// for a limit out of bounds.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Items per page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before; absent for the first page"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items" nullable:"false" doc:"The items of this page"`
	NextCursor *string `json:"next_cursor" doc:"Give it as cursor to get the next page; null on the last one"`
}

// PageOf returns a page of the first limit rows. The caller loads limit+1 rows: the extra
// row only shows that there is a next page. cursorOf returns the key of the last item,
// which becomes the cursor (see [EncodeCursor]).
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

// EncodeCursor returns an opaque cursor for the key after which the next page begins.
func EncodeCursor(key []byte) string { return cursorEncoding.EncodeToString(key) }

// DecodeCursor returns the key of a cursor, nil for "" (the first page). Text that
// [EncodeCursor] did not return is a 422 with the code "invalid_cursor".
func DecodeCursor(cursor string) ([]byte, error) {
	if cursor == "" {
		return nil, nil
	}
	if len(cursor) > CursorMax {
		return nil, InvalidCursor()
	}
	key, err := cursorEncoding.DecodeString(cursor)
	if err != nil || cursorEncoding.EncodeToString(key) != cursor {
		return nil, InvalidCursor()
	}
	return key, nil
}

// InvalidCursor returns the 422 for a cursor of another list, or for no cursor at all.
func InvalidCursor() *hub.Error {
	err := hub.Invalid("query.cursor", "is not a cursor of this list")
	err.Code = "invalid_cursor"
	return err
}

// cursorEncoding is base64url without padding; it refuses trailing bits.
var cursorEncoding = base64.RawURLEncoding.Strict()
