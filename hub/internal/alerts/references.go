package alerts

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
)

// invalidReference returns a [hub.ErrInvalid] about a field if the row was not found.
func invalidReference(err error, location, message string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.Invalid(location, message)
	}
	return store.Wrap("loading what the alert names", err)
}
