package productapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module/rest"
)

// healthPath is where health is answered, below a product's base.
const healthPath = "/health"

// Health is the answer to a health check.
type Health struct {
	Status  string `json:"status" enum:"ok,unavailable" doc:"unavailable without the database; the hub works without Redis for a while"`
	Service string `json:"service" example:"clinic" doc:"Name of the product"`
	Version string `json:"version" example:"1.0.0" doc:"Of the product"`
	DB      string `json:"db" enum:"connected,disconnected" doc:"Whether the database responds"`
	Redis   string `json:"redis" enum:"connected,disconnected" doc:"Whether Redis responds"`
}

// registerHealth serves and documents the health check. It is a fiber handler: it needs no
// credentials and is not recorded.
func (p *Product) registerHealth(router fiber.Router) {
	op := huma.Operation{
		OperationID: "health.get", Method: http.MethodGet, Path: healthPath, Summary: "Whether the product serves", DefaultStatus: http.StatusOK,
		Tags: []string{"health"}, Security: rest.Anyone, Responses: make(map[string]*huma.Response),
	}
	docs.Operations[op.OperationID].Describe(&op)
	huma.Register(p.documentOnly, op, func(context.Context, *struct{}) (*struct{ Body Health }, error) { return nil, nil })
	unavailable := *op.Responses[strconv.Itoa(http.StatusOK)]
	unavailable.Description = "The database does not respond"
	op.Responses[strconv.Itoa(http.StatusServiceUnavailable)] = &unavailable
	router.Get(healthPath, p.health)
}

// health answers GET /health: 200 while the database answers, else 503.
func (p *Product) health(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), 2*time.Second)
	defer cancel()
	database, redis := p.deps.Health(ctx)
	health := Health{Status: "ok", Service: p.spec.Name, Version: p.spec.Version, DB: connectionText(database), Redis: connectionText(redis)}
	status := fiber.StatusOK
	if !database {
		health.Status, status = "unavailable", fiber.StatusServiceUnavailable
	}
	return c.Status(status).JSON(health)
}

func connectionText(isUp bool) string {
	if isUp {
		return "connected"
	}
	return "disconnected"
}
