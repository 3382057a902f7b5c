package productapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/httpx"
)

// AuditedAction is one action, or attempt, on a tenant's data.
type AuditedAction struct {
	ID         uuid.UUID    `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	At         time.Time    `json:"at" doc:"When it happened"`
	Actor      AuditedActor `json:"actor" doc:"Who did it"`
	Action     string       `json:"action" doc:"Operation that was called, by its id" example:"integrations.connect"`
	Resource   string       `json:"resource" doc:"Kind of thing that was acted on" example:"integrations"`
	ResourceID string       `json:"resource_id" doc:"May be empty"`
	TenantID   *uuid.UUID   `json:"tenant_id" format:"uuid" nullable:"true" doc:"Tenant it belongs to"`
	IP         string       `json:"ip" doc:"Address the request came from" example:"203.0.113.7"`
	RequestID  string       `json:"request_id" doc:"X-Request-Id of the request, which the hub's log has too"`
	Status     int          `json:"status" example:"200" doc:"HTTP status of the outcome"`
	Count      int          `json:"count" minimum:"1" example:"1" doc:"How often it happened within the minute. Above 1 only for webhooks without a valid signature, by key and address; the other fields are those of the first"`
	// Environment and SubjectID are "" for actions that have none.
	Environment string `json:"environment" enum:"live,test," doc:"The data it was about; empty: of neither"`
	SubjectID   string `json:"subject_id" doc:"The person whose data it was about, such as a patient's id; empty: nobody in particular"`
}

// AuditedActor is the user, key or system behind an action.
type AuditedActor struct {
	Type  string `json:"type" enum:"operator,token,key,tenant_user,system,anonymous" doc:"Kind of whoever acted"`
	ID    string `json:"id" doc:"May be empty"`
	Label string `json:"label" doc:"The user's name, an operator's address, or how a key begins and ends"`
}

// auditLogInput filters the audit log of the caller's tenant.
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

func (p *Product) listAuditLog(ctx context.Context, in *auditLogInput) (*struct{ Body httpx.Page[AuditedAction] }, error) {
	before, err := cursorID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	tenantID := requestInfoFrom(ctx).caller.TenantID
	if in.Subject == "" {
		in.Subject = in.Patient
	}
	entries, err := p.deps.Audit.List(ctx, audit.Filter{
		Actor: in.ActorID, Action: in.Action, Resource: in.Resource, TenantID: &tenantID, SubjectID: in.Subject, Environment: in.Env,
		Since: in.Since, Until: in.Until,
	}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	items := make([]AuditedAction, len(entries))
	for i, entry := range entries {
		items[i] = AuditedAction{
			ID: entry.ID, At: entry.At, Actor: AuditedActor{entry.ActorType, entry.ActorID, entry.ActorLabel}, Action: entry.Action, Resource: entry.Resource,
			ResourceID: entry.ResourceID, TenantID: entry.TenantID, IP: entry.IP, RequestID: entry.RequestID, Status: entry.Status, Count: entry.Count,
			Environment: string(entry.Environment), SubjectID: entry.SubjectID,
		}
	}
	page := httpx.PageOf(items, in.Limit, func(last AuditedAction) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[AuditedAction] }{page}, nil
}
