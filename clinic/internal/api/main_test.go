package api_test

import (
	"testing"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type answer = moduletest.Response
type object = moduletest.Object
type operation = moduletest.Operation
