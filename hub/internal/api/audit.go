package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/httpx"
)

// AuditEntry is one action, successful or refused.
type AuditEntry struct {
	ID         uuid.UUID  `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	At         time.Time  `json:"at" doc:"When it happened"`
	Actor      Actor      `json:"actor" doc:"Who did it"`
	Action     string     `json:"action" doc:"Operation that was called, by its id" example:"keys.rotate"`
	Resource   string     `json:"resource" doc:"Kind of thing that was acted on" example:"keys"`
	ResourceID string     `json:"resource_id" doc:"May be empty"`
	TenantID   *uuid.UUID `json:"tenant_id" format:"uuid" nullable:"true" doc:"Tenant it belongs to"`
	IP         string     `json:"ip" doc:"Address the request came from" example:"203.0.113.7"`
	RequestID  string     `json:"request_id" doc:"X-Request-Id of the request, which the hub's log has too"`
	Status     int        `json:"status" example:"201" doc:"HTTP status of the outcome"`
	Count      int        `json:"count" minimum:"1" example:"1" doc:"How often it happened within the minute. Above 1 only for failed logins, by account, address and outcome, and for webhooks without a valid signature, by key and address; the other fields are those of the first"`
	Changed    []string   `json:"changed" nullable:"false" doc:"Names of the settings that a change of an endpoint or integration was about, without their values" example:"[\"filter\"]"`
	// Environment and SubjectID are "" for an action that concerned neither.
	Environment string `json:"environment" enum:"live,test," doc:"The data it was about; empty: of neither"`
	SubjectID   string `json:"subject_id" doc:"The person whose data it was about, by the product's id; empty: nobody in particular"`
}

// Actor performed an action.
type Actor struct {
	Type  string `json:"type" enum:"operator,token,key,tenant_user,system,anonymous" doc:"Kind of whoever acted"`
	ID    string `json:"id" doc:"May be empty"`
	Label string `json:"label" example:"ops@example.com" doc:"E-mail address, or how a key begins and ends"`
}

type listAuditInput struct {
	httpx.PageQuery
	Actor      string    `query:"actor_id" maxLength:"254" doc:"Only what this operator or key did: its id, or an operator's e-mail address"`
	Action     string    `query:"action" maxLength:"64" doc:"Only this action, e.g. keys.rotate"`
	Resource   string    `query:"resource" maxLength:"64" doc:"Only this kind of resource, e.g. keys"`
	ResourceID string    `query:"resource_id" maxLength:"64" doc:"Only what was done to the thing with this id"`
	Routine    string    `query:"routine" enum:"true,false" default:"true" doc:"false: without status checks and received webhooks of peers that got a response without an error; an action asked for is always there"`
	TenantID   uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only what concerned this tenant"`
	Subject    string    `query:"subject_id" maxLength:"64" doc:"Only what was about this person's data"`
	Since      time.Time `query:"since" doc:"Not before"`
	Until      time.Time `query:"until" doc:"Before"`
}

func (a *API) listAudit(ctx context.Context, in *listAuditInput) (*struct{ Body httpx.Page[AuditEntry] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Audit.List(ctx, audit.Filter{
		Actor: in.Actor, Action: in.Action, Resource: in.Resource, ResourceID: in.ResourceID, WithoutRoutine: in.Routine == "false", TenantID: nilIfZero(in.TenantID), SubjectID: in.Subject, Since: in.Since, Until: in.Until,
	}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, auditEntryOf, func(last audit.Entry) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[AuditEntry] }{page}, nil
}

func auditEntryOf(e audit.Entry) AuditEntry {
	return AuditEntry{
		ID: e.ID, At: e.At, Actor: Actor{Type: e.ActorType, ID: e.ActorID, Label: e.ActorLabel}, Action: e.Action, Resource: e.Resource,
		ResourceID: e.ResourceID, TenantID: e.TenantID, IP: e.IP, RequestID: e.RequestID, Status: e.Status, Count: e.Count,
		Environment: string(e.Environment), SubjectID: e.SubjectID, Changed: e.Changed,
	}
}
