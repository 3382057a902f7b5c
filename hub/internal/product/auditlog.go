package product

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/httpx"
)

// AuditedAction is one thing that was done or tried with what a tenant has.
type AuditedAction struct {
	ID         uuid.UUID    `json:"id" format:"uuid"`
	At         time.Time    `json:"at"`
	Actor      AuditedActor `json:"actor"`
	Action     string       `json:"action" example:"integrations.connect"`
	Resource   string       `json:"resource" example:"integrations"`
	ResourceID string       `json:"resource_id" doc:"May be empty"`
	TenantID   *uuid.UUID   `json:"tenant_id" format:"uuid" nullable:"true"`
	IP         string       `json:"ip" example:"203.0.113.7"`
	RequestID  string       `json:"request_id"`
	Status     int          `json:"status" example:"200" doc:"HTTP status of the outcome"`
	// Environment and SubjectID are "" for what was of neither, and about nobody.
	Environment string `json:"environment" enum:"live,test," doc:"The data it was about; empty: of neither"`
	SubjectID   string `json:"subject_id" doc:"The person whose data it was about, such as a patient's id; empty: nobody in particular"`
}

// AuditedActor is who did it.
type AuditedActor struct {
	Type  string `json:"type" enum:"operator,key,tenant_user,system,anonymous"`
	ID    string `json:"id" doc:"May be empty"`
	Label string `json:"label" doc:"The user's name, an operator's address, or how a key begins and ends"`
}

// auditLogInput filters the record; whose it is the caller says.
type auditLogInput struct {
	httpx.PageQuery
	ActorID  string    `query:"actor_id" maxLength:"64" doc:"Only what this user or key did"`
	Action   string    `query:"action" maxLength:"64" doc:"Only this action, e.g. integrations.connect"`
	Resource string    `query:"resource" maxLength:"64" doc:"Only this kind of resource, e.g. integrations"`
	Subject  string    `query:"subject_id" maxLength:"64" doc:"Only what was about this person's data"`
	Patient  string    `query:"patient_id" maxLength:"64" doc:"The same, of a product that has patients"`
	Env      string    `query:"environment" enum:"live,test" doc:"Only what was about this data"`
	Since    time.Time `query:"since" doc:"Not before"`
	Until    time.Time `query:"until" doc:"Before"`
}

func (p *Product) auditRoutes() {
	register(p.api, operation(http.MethodGet, "/audit-log", 200, "audit-log.list", "Who did what, newest first; both environments", administrators), p.auditLog)
}

func (p *Product) auditLog(ctx context.Context, in *auditLogInput) (*struct{ Body httpx.Page[AuditedAction] }, error) {
	before, err := idBefore(in.PageQuery)
	if err != nil {
		return nil, err
	}
	tenant := aboutOf(ctx).caller.TenantID
	if in.Subject == "" {
		in.Subject = in.Patient
	}
	entries, err := p.deps.Audit.List(ctx, audit.Filter{
		ActorID: in.ActorID, Action: in.Action, Resource: in.Resource, TenantID: &tenant, SubjectID: in.Subject, Environment: in.Env,
		Since: in.Since, Until: in.Until,
	}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	items := make([]AuditedAction, len(entries))
	for i, e := range entries {
		items[i] = AuditedAction{
			ID: e.ID, At: e.At, Actor: AuditedActor{e.ActorType, e.ActorID, e.ActorLabel}, Action: e.Action, Resource: e.Resource,
			ResourceID: e.ResourceID, TenantID: e.TenantID, IP: e.IP, RequestID: e.RequestID, Status: e.Status,
			Environment: string(e.Environment), SubjectID: e.SubjectID,
		}
	}
	page := httpx.PageOf(items, in.Limit, func(last AuditedAction) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[AuditedAction] }{page}, nil
}
