package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

// usersPerPage is the page size of the list.
const usersPerPage = 20

// Values of allTicket.
const (
	allTicketEnabled  = "enabled"
	allTicketDisabled = "disabled"
)

// maxUserQueues is how many queues a user may have.
const maxUserQueues = 200

// User is a person who answers contacts.
type User struct {
	ID         int64         `json:"id" doc:"Id of the user" example:"3"`
	CompanyID  int64         `json:"companyId" doc:"Company the user works for" example:"1"`
	Name       string        `json:"name" doc:"Shown to other users" example:"Bia"`
	Email      string        `json:"email" doc:"For logging in" example:"bia@example.com"`
	Profile    string        `json:"profile" enum:"admin,user" doc:"admin: everything of its company"`
	Super      bool          `json:"super" doc:"Always false: operators of the hub are no users of the platform"`
	Online     bool          `json:"online" doc:"Listens for updates, or made a request in the last two minutes"`
	IsActive   bool          `json:"isActive" doc:"false: may not log in"`
	AllTicket  string        `json:"allTicket" enum:"enabled,disabled" doc:"enabled: sees every ticket of its queues, not only its own"`
	WhatsappID *int64        `json:"whatsappId" doc:"Its preferred connection; null: the company's default one"`
	QueueIDs   []int64       `json:"queueIds" nullable:"false" doc:"Ids of the queues whose tickets it sees"`
	Queues     []TicketQueue `json:"queues" nullable:"false" doc:"The same queues"`
	CreatedAt  time.Time     `json:"createdAt" doc:"When it was made"`
	UpdatedAt  time.Time     `json:"updatedAt" doc:"Last change"`
}

type userOutput struct{ Body User }

// isAdmin reports whether the user may do everything in its company.
func (u userPrincipal) isAdmin() bool { return u.user.Profile == profileAdmin }

func errNoUser() *hub.Error { return notFound("no_user_found", "user") }

// formatAllTicket returns the API's value of a user's right to see all tickets.
func formatAllTicket(seesAll bool) string {
	if seesAll {
		return allTicketEnabled
	}
	return allTicketDisabled
}

// toUsers returns users with their queues.
func (a *API) toUsers(ctx context.Context, company int64, rows []store.User) ([]User, error) {
	ids := rest.Map(rows, func(u store.User) int64 { return u.ID })
	queues, err := a.store.QueuesOfUsers(ctx, company, ids)
	if err != nil {
		return nil, err
	}
	return rest.Map(rows, func(u store.User) User {
		user := User{
			ID: u.ID, CompanyID: u.CompanyID, Name: u.Name, Email: u.Email, Profile: u.Profile, IsActive: u.IsActive, AllTicket: formatAllTicket(u.AllTickets),
			Online: u.IsActive && u.OnlineUntil != nil && u.OnlineUntil.After(a.host.Now()), WhatsappID: u.ConnectionID,
			QueueIDs: []int64{}, Queues: []TicketQueue{}, CreatedAt: u.CreatedAt.UTC(), UpdatedAt: u.UpdatedAt.UTC(),
		}
		for _, q := range queues {
			if q.UserID == u.ID {
				user.QueueIDs, user.Queues = append(user.QueueIDs, q.ID), append(user.Queues, TicketQueue{q.ID, q.Name, q.Color})
			}
		}
		return user
	}), nil
}

// userOutput returns the response for one user.
func (a *API) userOutput(ctx context.Context, row store.User) (*userOutput, error) {
	users, err := a.toUsers(ctx, row.CompanyID, []store.User{row})
	if err != nil {
		return nil, err
	}
	return &userOutput{users[0]}, nil
}

type listUsersInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 users"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the name or e-mail address"`
}

// UserList is a page of users, ordered by name.
type UserList struct {
	Users   []User `json:"users" nullable:"false" doc:"The page"`
	Count   int    `json:"count" doc:"Of all pages"`
	HasMore bool   `json:"hasMore" doc:"There is another page"`
}

func (a *API) listUsers(ctx context.Context, in *listUsersInput) (*struct{ Body UserList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	page := store.Page{Offset: (in.PageNumber - 1) * usersPerPage, Limit: usersPerPage}
	rows, count, err := a.store.ListUsers(ctx, user.scope.Company, in.SearchParam, page)
	if err != nil {
		return nil, err
	}
	users, err := a.toUsers(ctx, user.scope.Company, rows)
	return &struct{ Body UserList }{UserList{users, count, count > page.Offset+len(users)}}, err
}

func (a *API) getUser(ctx context.Context, in *IDParam) (*userOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.User(ctx, user.scope.Company, in.ID)
	switch {
	case err != nil:
		return nil, dberr.MapNoRows(err, errNoUser())
	case !user.isAdmin() && row.ID != user.user.ID:
		return nil, errNoPermission()
	}
	return a.userOutput(ctx, row)
}

// UserFields are the settings of a user.
type UserFields struct {
	Name       rest.Optional[string]  `json:"name,omitempty" minLength:"2" maxLength:"120" doc:"Shown to other users" example:"Bia"`
	Email      rest.Optional[string]  `json:"email,omitempty" maxLength:"254" doc:"For logging in; unique on the platform" example:"bia@example.com"`
	Password   rest.Optional[string]  `json:"password,omitempty" minLength:"5" maxLength:"128" doc:"A new one ends every login of the user"`
	Profile    rest.Optional[string]  `json:"profile,omitempty" enum:"admin,user" doc:"Absent: user. A change ends every login of the user"`
	IsActive   rest.Optional[bool]    `json:"isActive,omitempty" doc:"false: logged out, and its open tickets wait for others"`
	AllTicket  rest.Optional[string]  `json:"allTicket,omitempty" enum:"enabled,disabled" doc:"enabled: sees every ticket of its queues, not only its own"`
	WhatsappID rest.Nullable[int64]   `json:"whatsappId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Its preferred connection; null: the company's default one"`
	QueueIDs   rest.Optional[[]int64] `json:"queueIds,omitempty" maxItems:"200" doc:"Ids of the queues whose tickets it sees"`
}

// isOwnProfile reports whether only what users may change of themselves is present.
func (f UserFields) isOwnProfile() bool {
	return !f.Profile.Set && !f.IsActive.Set && !f.AllTicket.Set && !f.WhatsappID.Set && !f.QueueIDs.Set
}

// applyTo sets the fields but for the password and the queues.
func (f UserFields) applyTo(u *store.User) error {
	allTicket := formatAllTicket(u.AllTickets)
	f.Name.ApplyTo(&u.Name)
	f.Email.ApplyTo(&u.Email)
	f.Profile.ApplyTo(&u.Profile)
	f.IsActive.ApplyTo(&u.IsActive)
	f.AllTicket.ApplyTo(&allTicket)
	f.WhatsappID.ApplyTo(&u.ConnectionID)
	u.Name, u.AllTickets = strings.TrimSpace(u.Name), allTicket == allTicketEnabled
	var errs rest.FieldErrors
	errs.CheckName(u.Name, "body.name", 120)
	errs.CheckLength(u.Name, "body.name", 2, 120)
	errs.CheckEmail(&u.Email, "body.email")
	if f.Password.Set {
		errs.CheckLength(f.Password.Value, "body.password", 5, 128)
	}
	errs.Check(u.Profile == profileAdmin || u.Profile == profileUser, "body.profile", "must be admin or user")
	errs.Check(allTicket == allTicketEnabled || allTicket == allTicketDisabled, "body.allTicket", "must be enabled or disabled")
	errs.Check(len(f.QueueIDs.Value) <= maxUserQueues, "body.queueIds", "must have at most 200 entries")
	return errs.Err()
}

// checkConnection returns a [hub.ErrNotFound] for a connection that is not the company's.
func (f UserFields) checkConnection(ctx context.Context, tx *store.Tx, company int64) error {
	if !f.WhatsappID.HasValue() {
		return nil
	}
	_, err := tx.Connection(ctx, company, f.WhatsappID.Value)
	return dberr.MapNoRows(err, notFound("no_wapp_found", "connection"))
}

// saveQueues replaces the user's queues, where they are present.
func (f UserFields) saveQueues(ctx context.Context, tx *store.Tx, u store.User) error {
	if !f.QueueIDs.Set {
		return nil
	}
	found, err := tx.SetUserQueues(ctx, u.CompanyID, u.ID, uniqueIDs(f.QueueIDs.Value))
	if err == nil && !found {
		err = errNoQueue()
	}
	return err
}

// hashPassword sets the password of a user, where one is present.
func (a *API) hashPassword(ctx context.Context, password rest.Optional[string], u *store.User) error {
	if !password.HasValue() {
		return nil
	}
	hash, err := a.host.Credentials.HashPassword(ctx, password.Value)
	u.PasswordHash = &hash
	return err
}

type createUserInput struct {
	Body struct{ UserFields } `nameHint:"UserFields"`
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*userOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.User{CompanyID: user.scope.Company, Profile: profileUser, IsActive: true}
	in.Body.Password.Set = true // required
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if !draft.IsActive {
		return nil, hub.Invalid("body.isActive", "must be true for a new user")
	}
	if err := a.hashPassword(ctx, in.Body.Password, &draft); err != nil {
		return nil, err
	}
	var created store.User
	err = a.withLockedUsers(ctx, user, "making a user", func(tx *store.Tx, caller userPrincipal, _ []store.User) error {
		if !caller.isAdmin() {
			return errNoPermission()
		}
		if err := in.Body.checkConnection(ctx, tx, draft.CompanyID); err != nil {
			return err
		}
		if created, err = tx.CreateUser(ctx, draft); err == nil {
			err = in.Body.saveQueues(ctx, tx, created)
		}
		return err
	})
	if err != nil {
		return nil, mapEmailConflict(err)
	}
	return a.userOutput(ctx, created)
}

type updateUserInput struct {
	IDParam
	Body struct{ UserFields } `nameHint:"UserFields"`
}

// withLockedUsers locks the company's users, so that two administrators cannot remove each
// other at once. It calls work with them, and with the caller as of now, who may log in.
func (a *API) withLockedUsers(ctx context.Context, caller userPrincipal, what string, work func(tx *store.Tx, caller userPrincipal, users []store.User) error) error {
	return a.store.InTx(ctx, what, func(tx *store.Tx) error {
		users, err := tx.LockUsers(ctx, caller.scope.Company)
		if err != nil {
			return err
		}
		locked, err := accounts.LockedCaller(users, func(u store.User) bool { return u.ID == caller.user.ID }, func(u store.User) bool { return u.IsActive })
		if err != nil {
			return err
		}
		return work(tx, userPrincipal{caller.scope, locked}, users)
	})
}

// withLockedUser is [API.withLockedUsers] for a change of one user. It calls work with the
// user, and whether that is the last active administrator.
func (a *API) withLockedUser(ctx context.Context, caller userPrincipal, id int64, work func(tx *store.Tx, caller userPrincipal, user store.User, isLastAdmin bool) error) error {
	return a.withLockedUsers(ctx, caller, "changing a user", func(tx *store.Tx, caller userPrincipal, users []store.User) error {
		i := slices.IndexFunc(users, func(u store.User) bool { return u.ID == id })
		if i < 0 {
			return errNoUser()
		}
		return work(tx, caller, users[i], accounts.IsLastAdmin(users, i, isActiveAdmin))
	})
}

func isActiveAdmin(user store.User) bool { return user.Profile == profileAdmin && user.IsActive }

func errLastAdmin() *hub.Error {
	return refused("last_admin", "This is the last active administrator; make another one first.")
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*userOutput, error) {
	caller, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var hashed store.User // before anything is locked: a hash takes its time
	if in.Body.Password.HasValue() && len([]rune(in.Body.Password.Value)) <= 128 {
		if err := a.hashPassword(ctx, in.Body.Password, &hashed); err != nil {
			return nil, err
		}
	}
	var updated store.User
	err = a.withLockedUser(ctx, caller, in.ID, func(tx *store.Tx, caller userPrincipal, user store.User, isLastAdmin bool) error {
		if !caller.isAdmin() && (user.ID != caller.user.ID || !in.Body.isOwnProfile()) {
			return errNoPermission()
		}
		earlier := user
		if err := in.Body.applyTo(&user); err != nil {
			return err
		}
		if isLastAdmin && !isActiveAdmin(user) {
			return errLastAdmin()
		}
		if in.Body.Password.HasValue() {
			user.PasswordHash = hashed.PasswordHash
		}
		if err := in.Body.checkConnection(ctx, tx, user.CompanyID); err != nil {
			return err
		}
		if err := in.Body.saveQueues(ctx, tx, user); err != nil {
			return err
		}
		if updated, err = tx.SaveUser(ctx, user); err != nil {
			return err
		}
		if earlier.IsActive && !user.IsActive {
			if err := tx.ReleaseTickets(ctx, caller.scope, user.ID); err != nil {
				return err
			}
		}
		if earlier.Profile != user.Profile {
			if err := a.authenticator.RevokeSessions(ctx, tx.Raw, user.UID); err != nil {
				return err
			}
		}
		return a.authenticator.RevokeChanged(ctx, tx.Raw, toAccount(earlier), toAccount(updated))
	})
	if err != nil {
		return nil, mapEmailConflict(err)
	}
	return a.userOutput(ctx, updated)
}

func (a *API) deleteUser(ctx context.Context, in *IDParam) (*messageOutput, error) {
	caller, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.withLockedUser(ctx, caller, in.ID, func(tx *store.Tx, caller userPrincipal, user store.User, isLastAdmin bool) error {
		if !caller.isAdmin() {
			return errNoPermission()
		}
		if isLastAdmin {
			return errLastAdmin()
		}
		if err := tx.ReleaseTickets(ctx, caller.scope, user.ID); err != nil {
			return err
		}
		return tx.DeleteUser(ctx, user.CompanyID, user.ID)
	})
	return &messageOutput{Message{"User deleted"}}, err
}

// TokenInput is a request whose access token the handler needs.
type TokenInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

// token returns the access token.
func (in TokenInput) token() string {
	_, token, _ := strings.Cut(in.Authorization, " ")
	return strings.TrimSpace(token)
}

type logOutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      Message
}

// logOut ends the login of the request's token.
func (a *API) logOut(ctx context.Context, in *TokenInput) (*logOutOutput, error) {
	user, err := a.authenticator.Logout(ctx, in.Authorization)
	if err != nil {
		return nil, err
	}
	if err := a.store.EndUserOnline(ctx, user); err != nil { // other logins of the user renew it
		return nil, dberr.Wrap("logging out", err)
	}
	return &logOutOutput{SetCookie: a.cookie("", -1), Body: Message{"Logged out"}}, nil
}
