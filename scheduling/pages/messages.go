package pages

// messages holds all texts of the pages. Those with %s or %d are formats.
type messages struct {
	// Around every page.
	SkipToContent, Language, Powered string
	Terms, Privacy                   string
	Call                             string // in front of a phone number
	Contact, Address                 string
	StepOf                           string // "Step %d of %d"
	Steps                            string // names the list of steps
	StepNames                        [5]string
	StepDone                         string // read out with a step that was taken
	Change                           string

	// Choosing.
	ChooseService, ChooseProfessional, ChooseDay, ChooseTime string
	Deposit, Free, From, Minutes                             string // "%s deposit", "Free", "from %s"
	Anybody, AnybodyHint                                     string
	PreviousMonth, NextMonth, PreviousWeek, NextWeek         string
	FreeTimes                                                [2]string // one, several
	NoTimes, Today                                           string
	Morning, Afternoon, Evening                              string
	PlacesLeft                                               [2]string // one, several
	WholeMonth                                               string
	TimesIn                                                  string // "Times in %s"
	YourTime, YourZone                                       string // "%s your time", said by the script

	// Nothing to choose.
	NoServices, NoServicesHint            string
	NoProfessionals, NoProfessionalsHint  string
	NoSlotsMonth, NoSlotsWeek, NoSlotsDay string
	NextFree, TakeIt, NoneSoon            string
	OtherProfessional                     string

	// Details.
	YourDetails, Name, Phone, Email, Notes, Optional         string
	PhoneHint, NotesHint, EmailHint                          string
	LeaveEmpty                                               string
	Agree, AgreeAnd                                          string // sentences before the links of terms and privacy
	CancellationPolicy                                       string
	Marketing                                                string // agrees to be written to
	Book, BookDeposit, Booking                               string
	PleaseCheck                                              [2]string // one field, several
	WrongName, WrongPhone, NeedPhone                         string
	WrongEmail, NeedEmail, WrongNotes                        string
	Taken, TakenHint, TakenNone, TakenMove, BookThis, SeeAll string
	TooMany, Refused, NoProvider, NoCharge, NeedsScript      string

	// What was booked.
	Summary, Service, With, When, Price, DueNow                        string
	Confirmed, ConfirmedHint, Requested, RequestedHint, Held, HeldHint string
	PayBy, PixHow, PixCode, Copy, Copied, QRAlt, TimeLeft, IHavePaid   string
	NoCode, DepositPaid                                                string
	SandboxPay, SandboxHint                                            string // development only
	AddToCalendar, Manage, BookAnother                                 string
	Cancelled, CancelledHint, Over, OverHint                           string
	Refunding, Refunded, Kept                                          string

	// Cancelling and moving.
	YourBooking, CancelTitle, CancelAsk, CancelReason, CancelNow, KeepIt string
	WillRefund, WillKeep                                                 string
	TooLateCancel, TooLateCancelUntil, NoOnlineCancel, NoOnlineMove      string
	TooLateMove                                                          string
	Move, MoveTitle, MoveAsk, MoveNow, Before, After                     string
	CannotMove                                                           string
	ContactUs                                                            string

	// Leaving the list of those who are written to.
	LeaveTitle, LeaveAsk, LeaveNow, LeftTitle, LeftHint string

	// What can go wrong.
	UnknownTitle, UnknownHint         string
	GoneTitle, GoneHint               string
	ClosedTitle, ClosedHint           string
	BadLinkTitle, BadLinkHint         string
	LimitedTitle, LimitedHint         string // "%d seconds"
	UnavailableTitle, UnavailableHint string
	BrokenTitle, BrokenHint           string
	ForeignTitle, ForeignHint         string
	StartAgain                        string
}

// pluralForm returns the singular or plural form for n.
func pluralForm(forms [2]string, n int) string {
	if n == 1 {
		return forms[0]
	}
	return forms[1]
}
