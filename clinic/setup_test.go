package clinic_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
