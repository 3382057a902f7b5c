package server

import (
	"context"
	"fmt"

	"integrationhub/hub/internal/files"
)

// openFiles opens the store of uploads and serves its files.
func (s *Server) openFiles(ctx context.Context) (err error) {
	cfg := s.options.Config
	address, err := cfg.UploadsURL()
	if err != nil {
		return err
	}
	if s.products.files, err = files.Open(ctx, address, s.publicURL()); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	s.app.Get(files.Path+"/*", s.products.files.Serve)
	return nil
}
