package store_test

import (
	"integrationhub/hub/hubtest/moduletest"
)

type answer = moduletest.Response
type object = moduletest.Object
