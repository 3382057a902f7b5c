package api

import (
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

func toPage(p rest.PageParams) store.Page { return store.Page{Limit: p.PerPage, Offset: p.Offset()} }
