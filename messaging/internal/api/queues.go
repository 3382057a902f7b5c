package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Queue is a department that answers contacts.
type Queue struct {
	ID                int64               `json:"id" doc:"Id of the queue" example:"4"`
	CompanyID         int64               `json:"companyId" doc:"Company that owns it" example:"1"`
	Name              string              `json:"name" doc:"Unique in the company; shown in menus" example:"Sales"`
	Color             string              `json:"color" doc:"Unique in the company: #rgb or #rrggbb" example:"#00aa88"`
	GreetingMessage   string              `json:"greetingMessage" doc:"Sent to contacts who choose the queue; empty: none"`
	OutOfHoursMessage string              `json:"outOfHoursMessage" doc:"Sent outside of opening hours; empty: the connection's"`
	Schedules         []chat.OpeningHours `json:"schedules" nullable:"false" doc:"Opening hours; none: the company's"`
	OrderQueue        *int                `json:"orderQueue" doc:"Place in lists and menus; null: last"`
	Options           []chat.MenuOption   `json:"options" nullable:"false" doc:"Menu of the queue"`
	CreatedAt         time.Time           `json:"createdAt" doc:"When it was made"`
	UpdatedAt         time.Time           `json:"updatedAt" doc:"Last change"`
}

type queueOutput struct{ Body Queue }

func errNoQueue() *hub.Error { return notFound("queue_not_found", "queue") }

func toQueue(q store.Queue) (Queue, error) {
	queue := Queue{
		ID: q.ID, CompanyID: q.CompanyID, Name: q.Name, Color: q.Color, GreetingMessage: q.GreetingMessage, OutOfHoursMessage: q.OutOfHoursMessage,
		Schedules: []chat.OpeningHours{}, OrderQueue: q.Position, Options: []chat.MenuOption{}, CreatedAt: q.CreatedAt.UTC(), UpdatedAt: q.UpdatedAt.UTC(),
	}
	if err := json.Unmarshal(q.Schedules, &queue.Schedules); err != nil {
		return queue, fmt.Errorf("decoding a queue's opening hours: %w", err)
	}
	if err := json.Unmarshal(q.Options, &queue.Options); err != nil {
		return queue, fmt.Errorf("decoding a queue's options: %w", err)
	}
	return queue, nil
}

// newQueueOutput returns the response for one queue.
func newQueueOutput(q store.Queue) (*queueOutput, error) {
	queue, err := toQueue(q)
	return &queueOutput{queue}, err
}

func (a *API) listQueues(ctx context.Context, _ *struct{}) (*struct{ Body []Queue }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.Queues(ctx, user.scope.Company)
	if err != nil {
		return nil, err
	}
	queues := make([]Queue, len(rows))
	for i, row := range rows {
		if queues[i], err = toQueue(row); err != nil {
			return nil, err
		}
	}
	return &struct{ Body []Queue }{queues}, nil
}

func (a *API) getQueue(ctx context.Context, in *IDParam) (*queueOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.Queue(ctx, user.scope.Company, in.ID)
	if err != nil {
		return nil, dberr.MapNoRows(err, errNoQueue())
	}
	return newQueueOutput(row)
}

// QueueFields are the settings of a queue.
type QueueFields struct {
	Name              rest.Optional[string]              `json:"name,omitempty" minLength:"2" maxLength:"60" doc:"Unique in the company; shown in menus" example:"Sales"`
	Color             rest.Optional[string]              `json:"color,omitempty" maxLength:"7" pattern:"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" doc:"Unique in the company: #rgb or #rrggbb" example:"#00aa88"`
	GreetingMessage   rest.Optional[string]              `json:"greetingMessage,omitempty" maxLength:"4096" doc:"Sent to contacts who choose the queue"`
	OutOfHoursMessage rest.Optional[string]              `json:"outOfHoursMessage,omitempty" maxLength:"4096" doc:"Sent outside of opening hours; empty: the connection's"`
	Schedules         rest.Optional[[]chat.OpeningHours] `json:"schedules,omitempty" maxItems:"28" doc:"Opening hours; none: the company's"`
	OrderQueue        rest.Nullable[int]                 `json:"orderQueue,omitempty" minimum:"0" maximum:"1000000" doc:"Place in lists and menus; null: last"`
	Options           rest.Optional[[]chat.MenuOption]   `json:"options,omitempty" maxItems:"100" doc:"Menu of the queue; replaces what was"`
}

func (f QueueFields) applyTo(q *store.Queue) error {
	f.Name.ApplyTo(&q.Name)
	f.Color.ApplyTo(&q.Color)
	f.GreetingMessage.ApplyTo(&q.GreetingMessage)
	f.OutOfHoursMessage.ApplyTo(&q.OutOfHoursMessage)
	f.OrderQueue.ApplyTo(&q.Position)
	q.Name, q.Color = strings.TrimSpace(q.Name), strings.ToLower(q.Color)
	var errs rest.FieldErrors
	errs.CheckName(q.Name, "body.name", 60)
	errs.CheckLength(q.Name, "body.name", 2, 60)
	if len(errs) > 0 {
		return invalidField("queue_invalid_name", "body.name", "The name must have 2 to 60 characters.")
	}
	if !colorPattern.MatchString(q.Color) {
		return invalidField("queue_invalid_color", "body.color", "The color must be #rgb or #rrggbb.")
	}
	errs.CheckLength(q.GreetingMessage, "body.greetingMessage", 0, maxBody)
	errs.CheckLength(q.OutOfHoursMessage, "body.outOfHoursMessage", 0, maxBody)
	errs.Check(q.Position == nil || *q.Position >= 0 && *q.Position <= 1_000_000, "body.orderQueue", "must be from 0 to 1000000, or null")
	if f.Schedules.Set {
		hours, problem := chat.NormalizeOpeningHours(f.Schedules.Value)
		errs.Check(problem == "", "body.schedules", problem)
		raw, err := json.Marshal(hours)
		if err != nil {
			return fmt.Errorf("encoding opening hours: %w", err)
		}
		q.Schedules = raw
	}
	if f.Options.Set {
		options, problem := chat.NormalizeMenu(f.Options.Value)
		errs.Check(problem == "", "body.options", problem)
		raw, err := json.Marshal(options)
		if err != nil {
			return fmt.Errorf("encoding options: %w", err)
		}
		q.Options = raw
	}
	return errs.Err()
}

// mapQueueConflict turns a violation of a unique name or color into an error for callers.
func mapQueueConflict(err error) error {
	switch dberr.ConstraintName(err) {
	case "queues_name":
		return refused("queue_name_already_exists", "The company has another queue with this name.")
	case "queues_color":
		return refused("queue_color_already_exists", "The company has another queue with this color.")
	}
	return err
}

type createQueueInput struct {
	Body struct{ QueueFields } `nameHint:"QueueFields"`
}

func (a *API) createQueue(ctx context.Context, in *createQueueInput) (*queueOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Queue{CompanyID: user.scope.Company, Schedules: json.RawMessage("[]"), Options: json.RawMessage("[]")}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	var created store.Queue
	err = a.store.InTx(ctx, "making a queue", func(tx *store.Tx) error {
		created, err = tx.CreateQueue(ctx, draft)
		return err
	})
	if err != nil {
		return nil, mapQueueConflict(err)
	}
	return newQueueOutput(created)
}

type updateQueueInput struct {
	IDParam
	Body struct{ QueueFields } `nameHint:"QueueFields"`
}

// withLockedQueue calls work with a queue of the company.
func (a *API) withLockedQueue(ctx context.Context, id int64, work func(tx *store.Tx, q store.Queue) error) error {
	user, err := a.requireUser(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, "changing a queue", func(tx *store.Tx) error {
		row, err := tx.LockQueue(ctx, user.scope.Company, id)
		if err != nil {
			return dberr.MapNoRows(err, errNoQueue())
		}
		return work(tx, row)
	})
}

func (a *API) updateQueue(ctx context.Context, in *updateQueueInput) (*queueOutput, error) {
	var saved store.Queue
	err := a.withLockedQueue(ctx, in.ID, func(tx *store.Tx, q store.Queue) error {
		err := in.Body.applyTo(&q)
		if err == nil {
			saved, err = tx.SaveQueue(ctx, q)
		}
		return err
	})
	if err != nil {
		return nil, mapQueueConflict(err)
	}
	return newQueueOutput(saved)
}

func (a *API) deleteQueue(ctx context.Context, in *IDParam) (*messageOutput, error) {
	err := a.withLockedQueue(ctx, in.ID, func(tx *store.Tx, q store.Queue) error { return tx.RemoveQueue(ctx, q.CompanyID, q.ID) })
	return &messageOutput{Message{"Queue deleted"}}, err
}
