package scheduling_test

import (
	"testing"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type object = moduletest.Object
