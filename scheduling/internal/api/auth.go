package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/letters"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Bad logins per account and address before further ones are refused unseen.
const (
	loginFailures = 10
	loginWindow   = 15 * time.Minute
)

// Links sent by mail.
const (
	resetTime     = time.Hour
	inviteTime    = 7 * 24 * time.Hour
	forgotWindow  = time.Hour
	forgotAtMost  = 5 // links in that time for one account
	refreshPrefix = "schr_"
)

type signUpInput struct {
	Body struct {
		OrgName  string            `json:"org_name" minLength:"1" maxLength:"120" doc:"Name of the organization"`
		OrgSlug  string            `json:"org_slug" minLength:"1" maxLength:"63" doc:"Its part of public addresses: a-z, 0-9 and dashes, 3 to 63 characters" example:"studio-bia"`
		Name     string            `json:"name" minLength:"1" maxLength:"120" doc:"Of the owner"`
		Email    string            `json:"email" maxLength:"254" example:"bia@example.com"`
		Password string            `json:"password" minLength:"8" maxLength:"128"`
		Phone    *optional[string] `json:"phone,omitempty"`
	} `nameHint:"Register"`
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1000"`
	} `nameHint:"Login"`
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refresh_token" maxLength:"4096"`
	} `nameHint:"Refresh"`
}

type sessionOutput struct{ Body Session }

// Session is what a login hands out.
type Session struct {
	AccessToken  string        `json:"access_token" doc:"Send it as Authorization: Bearer"`
	RefreshToken string        `json:"refresh_token" doc:"Good for one use"`
	TokenType    string        `json:"token_type" example:"bearer"`
	ExpiresIn    int           `json:"expires_in" doc:"Seconds until the access token expires" example:"1800"`
	User         *User         `json:"user,omitempty" doc:"Only when registering"`
	Organization *Organization `json:"organization,omitempty" doc:"Only when registering"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*sessionOutput, error) {
	b := &in.Body
	b.OrgName, b.Name = strings.TrimSpace(b.OrgName), strings.TrimSpace(b.Name)
	var phone *string
	if b.Phone != nil && b.Phone.given() && b.Phone.Value != "" {
		phone = &b.Phone.Value
	}
	var wrong faults
	wrong.length(b.OrgName, "body.org_name", 1, 120)
	wrong.length(b.Name, "body.name", 1, 120)
	wrong.email(&b.Email, "body.email")
	wrong.phone(phone)
	wrong.need(booking.ValidSlug(b.OrgSlug), "body.org_slug", "must be 3 to 63 of a-z, 0-9 and single dashes, and no reserved word")
	if err := wrong.err(); err != nil {
		return nil, err
	}
	hash, err := a.kit.Accounts.HashPassword(ctx, b.Password)
	if err != nil {
		return nil, err
	}
	org := store.NewID()
	var session Session
	var owner dbgen.User
	err = a.store.InTx(ctx, "registering", func(tx *store.Tx) error {
		if owner, err = a.found(ctx, tx, org, in, phone, hash); err != nil {
			return err
		}
		session, err = a.issue(ctx, tx.Queries, owner.ID, uuid.New())
		return err
	})
	if err != nil {
		return nil, accountTaken(err)
	}
	made, err := a.store.Org(ctx, org)
	if err != nil {
		return nil, err
	}
	shown, details := userOf(owner), a.organizationOf(made)
	session.User, session.Organization = &shown, &details
	return &sessionOutput{session}, nil
}

// found makes an organization with its owner.
func (a *API) found(ctx context.Context, tx *store.Tx, org uuid.UUID, in *signUpInput, phone *string, hash string) (dbgen.User, error) {
	b := &in.Body
	if err := slugIsFree(ctx, tx, b.OrgSlug, org); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateOrganization(ctx, dbgen.CreateOrganizationParams{ID: org, Name: b.OrgName, Slug: b.OrgSlug, Phone: phone}); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateSettings(ctx, org, []string{b.Email}); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateLoyaltyProgram(ctx, org); err != nil {
		return dbgen.User{}, err
	}
	if err := a.kit.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: org, Name: b.OrgName}); err != nil {
		return dbgen.User{}, err
	}
	return tx.CreateUser(ctx, dbgen.CreateUserParams{
		OrgID: org, ID: store.NewID(), Name: b.Name, Email: b.Email, PasswordHash: &hash, Role: roleOwner, Phone: phone, IsActive: true,
	})
}

// slugIsFree refuses a slug that still leads to another organization. Those in use
// are refused by the database.
func slugIsFree(ctx context.Context, tx *store.Tx, slug string, org uuid.UUID) error {
	kept, err := tx.SlugIsKept(ctx, dbgen.SlugIsKeptParams{Slug: slug, Now: tx.Now(), OrgID: org})
	if err == nil && kept {
		return slugTaken()
	}
	return err
}

func slugTaken() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "slug_taken", "Organization slug already taken")
}

// accountTaken answers for names that somebody else has.
func accountTaken(err error) error {
	switch dberr.Violated(err) {
	case "users_email":
		return hub.Errorf(hub.ErrMalformed, "email_taken", "Email already registered")
	case "organizations_slug_key":
		return slugTaken()
	}
	return err
}

// issue makes the tokens of a login.
func (a *API) issue(ctx context.Context, q *dbgen.Queries, user, login uuid.UUID) (Session, error) {
	access, err := a.kit.Accounts.SignAccess(user, login)
	if err != nil {
		return Session{}, err
	}
	refresh, hash := newSecret(refreshPrefix)
	now := a.kit.Now()
	err = q.CreateRefreshToken(ctx, dbgen.CreateRefreshTokenParams{
		Hash: hash, FamilyID: login, UserID: user, CreatedAt: now, ExpiresAt: now.Add(a.kit.Settings.RefreshTTL),
	})
	return Session{AccessToken: access, RefreshToken: refresh, TokenType: "bearer", ExpiresIn: int(a.kit.Settings.AccessTTL.Seconds())}, err
}

// newSecret makes 256 random bits as text; its hash is what is stored.
func newSecret(prefix string) (plain string, hash []byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	plain = prefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return plain, hashOf(plain)
}

func hashOf(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

func (a *API) login(ctx context.Context, in *loginInput) (*sessionOutput, error) {
	account, ip, now := a.accountHash(in.Body.Email), module.ClientIP(ctx), a.kit.Now()
	failures, err := a.store.RecentLoginFailures(ctx, dbgen.RecentLoginFailuresParams{AccountHash: account, Ip: ip, Since: now.Add(-loginWindow), RowLimit: loginFailures})
	if err != nil {
		return nil, err
	}
	if len(failures) >= loginFailures {
		limited := hub.Errorf(hub.ErrLimited, "too_many_logins", "Too many failed logins for this account; wait and try again.")
		limited.RetryAfter = max(time.Second, failures[len(failures)-1].Add(loginWindow).Sub(now))
		return nil, limited
	}
	user, err := a.store.UserByEmail(ctx, in.Body.Email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	matches, err := a.kit.Accounts.CheckPassword(ctx, text(user.PasswordHash), in.Body.Password)
	if err != nil {
		return nil, err
	}
	if !matches || !user.IsActive {
		if err := a.store.RecordLoginFailure(ctx, dbgen.RecordLoginFailureParams{AccountHash: account, Ip: ip, At: now}); err != nil {
			return nil, err
		}
		return nil, hub.Errorf(hub.ErrUnauthorized, "invalid_credentials", "Invalid credentials")
	}
	if err := a.store.ForgetLoginFailures(ctx, account, ip); err != nil {
		return nil, err
	}
	session, err := a.issue(ctx, a.store.Queries, user.ID, uuid.New())
	return &sessionOutput{session}, err
}

// accountHash is what failed logins are counted under: keyed, so that the table does
// not tell which addresses were tried.
func (a *API) accountHash(email string) []byte {
	mac := hmac.New(sha256.New, a.kit.Sealer.Derive("login failures"))
	mac.Write([]byte(strings.ToLower(email)))
	return mac.Sum(nil)
}

func refusedRefresh() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_refresh_token", "Invalid refresh token")
}

// refresh trades a token. One that was used before ends the whole login: either its
// owner or a thief has the newer one.
func (a *API) refresh(ctx context.Context, in *refreshInput) (*sessionOutput, error) {
	var session Session
	reused := false
	err := a.store.InTx(ctx, "refreshing", func(tx *store.Tx) error {
		token, err := tx.LockRefreshToken(ctx, hashOf(in.Body.RefreshToken))
		if errors.Is(err, pgx.ErrNoRows) {
			return refusedRefresh()
		}
		if err != nil {
			return err
		}
		now := a.kit.Now()
		if token.UsedAt != nil { // committed, although the answer is an error
			reused = true
			return tx.RevokeFamily(ctx, now, token.FamilyID)
		}
		if token.RevokedAt != nil || !token.ExpiresAt.After(now) {
			return refusedRefresh()
		}
		user, err := tx.UserByID(ctx, token.UserID)
		if err != nil {
			return err
		}
		if !user.IsActive {
			return refusedRefresh()
		}
		if err := tx.UseRefreshToken(ctx, token.Hash, &now); err != nil {
			return err
		}
		session, err = a.issue(ctx, tx.Queries, user.ID, token.FamilyID)
		return err
	})
	if err == nil && reused {
		err = refusedRefresh()
	}
	return &sessionOutput{session}, err
}

// Authenticate implements the product's part of [module.Instance].
func (a *API) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	refused := hub.Errorf(hub.ErrUnauthorized, "invalid_token", "A valid access token is needed: log in, or refresh it.")
	id, login, ok := a.kit.Accounts.VerifyAccess(token)
	if !ok {
		return module.Caller{}, refused
	}
	user, err := a.store.UserOfLogin(ctx, id, login)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.Caller{}, refused
	}
	if err != nil {
		return module.Caller{}, dberr.Failed("loading the user", err)
	}
	return module.Caller{
		TenantID: user.OrgID, Environment: hub.Live, UserID: user.ID, Name: user.Name, Role: user.Role,
		Admin: user.Role == roleOwner || user.Role == roleAdmin,
	}, nil
}

type forgotInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254"`
	} `nameHint:"ForgotPassword"`
}

type messageOutput struct{ Body Message }

// Message is an answer for people.
type Message struct {
	Message string `json:"message"`
}

// forgot answers the same for every address, after the same work.
func (a *API) forgot(ctx context.Context, in *forgotInput) (*messageOutput, error) {
	var wrong faults
	wrong.email(&in.Body.Email, "body.email")
	if err := wrong.err(); err != nil {
		return nil, err
	}
	user, err := a.store.UserByEmail(ctx, in.Body.Email)
	known := err == nil && user.IsActive
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	if !known {
		user.ID = uuid.New()
	}
	sent, err := a.store.CountMailedTokens(ctx, user.ID, a.kit.Now().Add(-forgotWindow))
	if err != nil {
		return nil, err
	}
	if sent < forgotAtMost {
		err = a.store.InTx(ctx, "sending a link", func(tx *store.Tx) error {
			return a.mailLink(ctx, tx, user, "reset", resetTime)
		})
		if err != nil && known { // for a stranger the database refuses it
			return nil, err
		}
	}
	return &messageOutput{Message{"If the e-mail is registered, a reset link was sent"}}, nil
}

// mailLink sends a link to set a password.
func (a *API) mailLink(ctx context.Context, tx *store.Tx, user dbgen.User, purpose string, valid time.Duration) error {
	token, hash := newSecret("")
	err := tx.CreateMailedToken(ctx, dbgen.CreateMailedTokenParams{Hash: hash, UserID: user.ID, Purpose: purpose, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(valid)})
	if err != nil {
		return err
	}
	letter := letters.Reset
	if purpose == "invite" {
		letter = letters.Invite
	}
	return a.office.Link(ctx, tx, user, letter, a.kit.URLs.Public+"/reset-password?token="+url.QueryEscape(token))
}

type resetInput struct {
	Body struct {
		Token       string `json:"token" maxLength:"200"`
		NewPassword string `json:"new_password,omitempty" minLength:"8" maxLength:"128"`
		Password    string `json:"password,omitempty" minLength:"8" maxLength:"128" doc:"The same as new_password"`
	} `nameHint:"ResetPassword"`
}

func (a *API) reset(ctx context.Context, in *resetInput) (*messageOutput, error) {
	password := in.Body.NewPassword
	if password == "" {
		password = in.Body.Password
	}
	if password == "" {
		return nil, hub.Invalid("body.new_password", "is required")
	}
	hash, err := a.kit.Accounts.HashPassword(ctx, password)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "setting a password", func(tx *store.Tx) error {
		token, err := tx.LockMailedToken(ctx, hashOf(in.Body.Token))
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err != nil || token.UsedAt != nil || !token.ExpiresAt.After(tx.Now()) {
			return hub.Errorf(hub.ErrMalformed, "invalid_reset_token", "Invalid or expired token")
		}
		if err := tx.UseMailedTokens(ctx, tx.Now(), token.UserID); err != nil {
			return err
		}
		if err := tx.SetPassword(ctx, dbgen.SetPasswordParams{ID: token.UserID, PasswordHash: &hash, UpdatedAt: tx.Now()}); err != nil {
			return err
		}
		return tx.RevokeLogins(ctx, tx.Now(), token.UserID)
	})
	return &messageOutput{Message{"Password updated"}}, err
}

func (a *API) me(ctx context.Context, _ *struct{}) (*userOutput, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByID(ctx, who.UserID)
	return &userOutput{userOf(user)}, or404("User", err)
}
