package store

import (
	"context"
	"fmt"

	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/tenantdata"
)

// tenants is where the companies' rows are.
var tenants = tenantdata.Schema{Name: "messaging", Root: "companies", Key: "company_id"}

// EraseCompany deletes all rows and files of a company. After an error it is called again, and
// continues.
func (s *Store) EraseCompany(ctx context.Context, company int64) error {
	for last := ""; ; {
		files, err := s.MediaOfCompany(ctx, company, last, mediaBatch)
		if err != nil {
			return dberr.Wrap("listing the files of a company", err)
		}
		for _, file := range files {
			if err := s.host.Blobs.Delete(ctx, file.BlobID); err != nil {
				return fmt.Errorf("deleting a file: %w", err)
			}
			last = file.ID
		}
		if len(files) < mediaBatch {
			return tenants.Erase(ctx, s.host.Pool, company)
		}
	}
}

// SuspendedCompanies returns the companies that operators have suspended: jobs leave them out.
func (s *Store) SuspendedCompanies(ctx context.Context) ([]int64, error) {
	suspended := s.host.Tenants.Suspended()
	if len(suspended) == 0 {
		return []int64{}, nil
	}
	companies, err := s.CompaniesOfTenants(ctx, suspended)
	if companies == nil {
		companies = []int64{}
	}
	return companies, dberr.Wrap("finding suspended companies", err)
}
