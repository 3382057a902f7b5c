//go:build unix

package clinictest

import (
	"testing"

	"integrationhub/hub/hubtest/moduletest"
)

// HubProcess is the hub as it is delivered, in a process of its own.
type HubProcess struct{ *moduletest.HubProcess }

// StartHubProcess starts the hub on servers of its own.
func StartHubProcess(t *testing.T) *HubProcess {
	t.Helper()
	return &HubProcess{moduletest.StartHubProcess(t)}
}

// RegisterClinic registers a clinic there.
func (k *HubProcess) RegisterClinic() *Clinic {
	k.T.Helper()
	return RegisterClinic(k.T, k.Product("clinic"))
}
