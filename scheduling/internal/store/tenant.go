package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/tenantdata"
)

// tenants is where the organizations' rows are.
var tenants = tenantdata.Schema{Name: "scheduling", Root: "organizations", Key: "org_id"}

// EraseOrganization deletes all rows and pictures of an organization. After an error it is called
// again, and continues.
func (s *Store) EraseOrganization(ctx context.Context, org uuid.UUID) error {
	pictures, err := s.PicturesOf(ctx, org)
	if err != nil {
		return dberr.Wrap("listing the pictures of an organization", err)
	}
	for _, name := range pictures {
		if err := s.host.Files.Delete(ctx, name); err != nil {
			return fmt.Errorf("deleting a picture: %w", err)
		}
	}
	return tenants.Erase(ctx, s.host.Pool, org)
}
