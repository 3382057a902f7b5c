package api

import (
	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
)

// idPath is the input of rows about one resource.
type idPath struct {
	ID uuid.UUID `path:"id" format:"uuid" doc:"Id of the resource" example:"019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11"`
}

// none is a response without a body.
type none struct{}

// beforeID decodes the cursor of a list that is ordered by id, newest first.
func beforeID(page httpx.PageQuery) (*uuid.UUID, error) {
	key, err := httpx.DecodeCursor(page.Cursor)
	if key == nil || err != nil {
		return nil, err
	}
	id, err := uuid.FromBytes(key)
	if err != nil {
		return nil, httpx.InvalidCursor()
	}
	return &id, nil
}

// pageOf converts rows, one more than a page if there are more, into a page of items.
func pageOf[R, T any](rows []R, page httpx.PageQuery, itemOf func(R) T, cursorOf func(R) []byte) httpx.Page[T] {
	cut := httpx.PageOf(rows, page.Limit, cursorOf)
	items := make([]T, len(cut.Items))
	for i, row := range cut.Items {
		items[i] = itemOf(row)
	}
	return httpx.Page[T]{Items: items, NextCursor: cut.NextCursor}
}

// nilIfZero returns nil for the zero value: a filter that is not set.
func nilIfZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
