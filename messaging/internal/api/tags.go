package api

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

// Bounds of tags.
const (
	tagsPerPage     = 5000
	maxTagsOfObject = 100 // of one contact or ticket
	maxKanban       = 1000
	defaultTagColor = "#A4CCCC"
)

// Tag marks contacts and tickets.
type Tag struct {
	ID        int64     `json:"id" doc:"Id of the tag" example:"8"`
	CompanyID int64     `json:"companyId" doc:"Company that owns it" example:"1"`
	Name      string    `json:"name" doc:"Unique in the company" example:"VIP"`
	Color     string    `json:"color" doc:"#rgb or #rrggbb" example:"#A4CCCC"`
	Kanban    int       `json:"kanban" doc:"Column of a board; 0: none"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was made"`
	UpdatedAt time.Time `json:"updatedAt" doc:"Last change"`
}

// TagSummary is a tag in other resources.
type TagSummary struct {
	ID    int64  `json:"id" doc:"Id of the tag" example:"8"`
	Name  string `json:"name" doc:"Unique in the company" example:"VIP"`
	Color string `json:"color" doc:"#rgb or #rrggbb" example:"#A4CCCC"`
}

type tagOutput struct{ Body Tag }

func toTag(t store.Tag) Tag {
	return Tag{t.ID, t.CompanyID, t.Name, t.Color, t.Kanban, t.CreatedAt.UTC(), t.UpdatedAt.UTC()}
}

func errNoTag() *hub.Error { return notFound("no_tag_found", "tag") }

type listTagsInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 5,000 tags"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the name"`
}

// TagList is a page of tags, ordered by name.
type TagList struct {
	Tags    []Tag `json:"tags" nullable:"false" doc:"The page"`
	Count   int   `json:"count" doc:"Of all pages"`
	HasMore bool  `json:"hasMore" doc:"There is another page"`
}

func (a *API) listTags(ctx context.Context, in *listTagsInput) (*struct{ Body TagList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	page := store.Page{Offset: (in.PageNumber - 1) * tagsPerPage, Limit: tagsPerPage}
	rows, count, err := a.store.ListTags(ctx, user.scope.Company, in.SearchParam, page)
	return &struct{ Body TagList }{TagList{rest.Map(rows, toTag), count, count > page.Offset+len(rows)}}, err
}

func (a *API) getTag(ctx context.Context, in *IDParam) (*tagOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	tag, err := a.store.Tag(ctx, user.scope.Company, in.ID)
	return &tagOutput{toTag(tag)}, dberr.MapNoRows(err, errNoTag())
}

// TagFields are the settings of a tag.
type TagFields struct {
	Name   rest.Optional[string] `json:"name,omitempty" minLength:"3" maxLength:"60" doc:"Unique in the company" example:"VIP"`
	Color  rest.Optional[string] `json:"color,omitempty" maxLength:"7" pattern:"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" doc:"#rgb or #rrggbb; absent: #A4CCCC" example:"#A4CCCC"`
	Kanban rest.Optional[int]    `json:"kanban,omitempty" minimum:"0" maximum:"1000" doc:"Column of a board; absent: 0, none"`
}

// colorPattern is the form of colors.
var colorPattern = regexp.MustCompile(`^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$`)

func (f TagFields) applyTo(t *store.Tag) error {
	f.Name.ApplyTo(&t.Name)
	f.Color.ApplyTo(&t.Color)
	f.Kanban.ApplyTo(&t.Kanban)
	t.Name = strings.TrimSpace(t.Name)
	var errs rest.FieldErrors
	errs.CheckName(t.Name, "body.name", 60)
	errs.CheckLength(t.Name, "body.name", 3, 60)
	errs.Check(colorPattern.MatchString(t.Color), "body.color", "must be #rgb or #rrggbb")
	errs.Check(t.Kanban >= 0 && t.Kanban <= maxKanban, "body.kanban", "must be from 0 to 1000")
	return errs.Err()
}

// mapTagConflict turns a violation of the unique name into an error for callers.
func mapTagConflict(err error) error {
	if dberr.ConstraintName(err) == "tags_name" {
		return refused("tag_name_already_exists", "The company has another tag with this name.")
	}
	return err
}

type createTagInput struct {
	Body struct{ TagFields } `nameHint:"TagFields"`
}

func (a *API) createTag(ctx context.Context, in *createTagInput) (*tagOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Tag{CompanyID: user.scope.Company, Color: defaultTagColor}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	var created store.Tag
	err = a.store.InTx(ctx, "making a tag", func(tx *store.Tx) error {
		created, err = tx.CreateTag(ctx, draft)
		return err
	})
	return &tagOutput{toTag(created)}, mapTagConflict(err)
}

type updateTagInput struct {
	IDParam
	Body struct{ TagFields } `nameHint:"TagFields"`
}

func (a *API) updateTag(ctx context.Context, in *updateTagInput) (*tagOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var saved store.Tag
	err = a.store.InTx(ctx, "changing a tag", func(tx *store.Tx) error {
		tag, err := tx.LockTag(ctx, user.scope.Company, in.ID)
		if err != nil {
			return dberr.MapNoRows(err, errNoTag())
		}
		if err := in.Body.applyTo(&tag); err != nil {
			return err
		}
		saved, err = tx.SaveTag(ctx, tag)
		return err
	})
	return &tagOutput{toTag(saved)}, mapTagConflict(err)
}

func (a *API) deleteTag(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := a.store.DeleteTag(ctx, user.scope.Company, in.ID)
	if err == nil && deleted == 0 {
		err = errNoTag()
	}
	return &messageOutput{Message{"Tag deleted"}}, err
}

// uniqueIDs returns ids in order, each once.
func uniqueIDs(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// setTags replaces the tags of a contact or a ticket, with the store's method for it. Tags of
// other companies are a [hub.ErrNotFound].
func setTags(ctx context.Context, tags rest.Optional[[]int64], set func(ctx context.Context, company, id int64, tags []int64) (bool, error), company, id int64) error {
	if !tags.Set {
		return nil
	}
	found, err := set(ctx, company, id, uniqueIDs(tags.Value))
	if err == nil && !found {
		err = errNoTag()
	}
	return err
}
