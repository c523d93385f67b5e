------------------------------ MODULE Park ------------------------------
\* SPDX-License-Identifier: BSD-3-Clause
\* Sleep and wake as in sleep/ws_idle.c, ws_wake.c, ws_guard.c, ws_push.c, ws_worker.c: sleepers mask, searching
\* with claim on behalf, workers that get no CPU and are taken out of searching, woken workers that wake two, workers that wake by their own timers, cap on awake
\* workers, guard thread. Sequentially consistent; a step is one access of a shared word, or several where a
\* split shows nothing new.
\*
\* Tasks wait in one bag, which stands for all queues. A blocker ends only after a key task has run, as a task
\* that waits for an event of the program. s holds the shared words, l what each thread knows.
EXTENDS Naturals, FiniteSets, Sequences, TLC
CONSTANTS
  N,         \* workers 1..N
  Script,    \* for each producer the kinds of task that it pushes, one by one
  Cpus,      \* cap on awake workers when no helper is awake; of a pool with a guard only
  Helpers,   \* outside threads that are awake in a join at the start; each ends its join at some time
  Guarded,   \* whether the pool has a guard
  Joins,     \* TRUE: a blocker waits in a join, and so gives its seat away
  Moves,     \* TRUE: a blocker first moves a task of others out of its own queue
  Searches,  \* TRUE: an idle worker searches before it parks
  Timers,    \* TRUE: a worker that parks may set a timer, and then wakes by it
  Starving,  \* workers that may never get a CPU, as long as they hold no task and need not wake another worker
  Suspects,  \* TRUE: the guard may also take workers for starved that are not
  Faults     \* names of the deliberate faults of a mutant
VARIABLES s, l
vars == <<s, l>>

W == 1..N
P == {20 + i : i \in DOMAIN Script}
H == {10 + i : i \in 1..Helpers}
G == IF Guarded THEN {30} ELSE {}
Kinds == {"quick", "blocker", "key"}
RECURSIVE Sum(_)
Sum(i) == IF i = 0 THEN 0 ELSE Len(Script[i]) + Sum(i - 1)
Total == Sum(Len(Script))

Init ==
  /\ \E guard \in IF Guarded THEN {"dormant", "standing"} ELSE {"dormant"} :
     s = [bag |-> [k \in Kinds |-> 0], done |-> 0, key |-> FALSE, sleepers |-> {}, searching |-> 0,
          blocked |-> 0, helpers |-> Helpers, lifted |-> FALSE, guard |-> guard, token |-> [w \in W |-> 0],
          state |-> [w \in W |-> "running"]]
  /\ l = [x \in W \cup P \cup H \cup G |->
           [pc |-> IF x \in W THEN "find" ELSE IF x \in P THEN "push" ELSE IF x \in H THEN "help" ELSE "rest",
            search |-> "no", task |-> "quick", timed |-> FALSE, alarm |-> FALSE, sent |-> 0, seen |-> 0, left |-> 0,
            back |-> "none"]]

Fault(name) == name \in Faults
Min(a, b) == IF a < b THEN a ELSE b
Queued == s.bag["quick"] + s.bag["blocker"] + s.bag["key"]
Visible == Queued > 0
Awake == N - Cardinality(s.sleepers)
Starved == Cardinality({w \in W : s.state[w] = "starved"})
Working == IF Awake > s.blocked + Starved THEN Awake - s.blocked - Starved ELSE 0
Limit == IF s.lifted \/ (~Guarded /\ ~Fault("cap_alone")) THEN N
         ELSE IF Cpus > s.helpers THEN Min(N, Cpus - s.helpers) ELSE 1
At(x, p) == l[x].pc = p
Go(x, p) == l' = [l EXCEPT ![x].pc = p]
GoBack(x, p, back) == l' = [l EXCEPT ![x].pc = p, ![x].back = back]
Keep == s' = s
Look(x, p) == IF s.sleepers # {} /\ Visible THEN GoBack(x, "post", p) ELSE Go(x, p)

\* ---- ws_post, ws_wake, wake_one: any thread. The code calls the guard after the wake; the two are
\* independent.
\* A loop that wakes several ends when a wake fails.
Return(x, woke) ==
  LET back == CASE ~woke /\ l[x].back = "last" -> "run" [] ~woke /\ l[x].back = "more" -> "rest"
                [] OTHER -> l[x].back
  IN l' = [l EXCEPT ![x].pc = back, ![x].back = "none", ![x].seen = 0, ![x].left = IF woke THEN @ ELSE 0]
WakeOne(x) ==
  \/ /\ At(x, "post") /\ Keep
     /\ IF Guarded /\ s.guard = "dormant" /\ ~Fault("no_call") /\ ~(Fault("trusts") /\ s.searching > 0)
        THEN Go(x, "call") ELSE Go(x, "searching?")
  \/ /\ At(x, "call") /\ s' = [s EXCEPT !.guard = "standing"] /\ Go(x, "searching?")
  \/ /\ At(x, "searching?") /\ Keep
     /\ \/ s.searching = 0 /\ Go(x, "wake_one")
        \/ s.searching > 0 /\ Return(x, FALSE)
        \/ s.searching > 0 /\ x \in P /\ Queued > s.searching /\ Go(x, "wake_one") \* ahead, if that is foreseen to pay
  \/ /\ At(x, "wake_one") /\ Keep
     /\ IF Working < Limit THEN Go(x, "claim") ELSE Return(x, FALSE)
  \/ /\ At(x, "claim")
     /\ IF s.sleepers = {} THEN Return(x, FALSE) /\ Keep
        ELSE \E v \in s.sleepers :
               /\ l' = [l EXCEPT ![x].pc = "count", ![x].seen = v]
               /\ IF Fault("claim_blind") THEN Keep ELSE s' = [s EXCEPT !.sleepers = @ \ {v}]
  \/ /\ At(x, "count") /\ Go(x, "give")
     /\ s' = [s EXCEPT !.searching = @ + 1, !.sleepers = @ \ {l[x].seen}, !.state[l[x].seen] = "relied"]
  \/ /\ At(x, "give") /\ Return(x, TRUE) /\ s' = [s EXCEPT !.token[l[x].seen] = 1]

\* ---- ws_push.c
Producer(p) ==
  LET mine == Script[p - 20] IN
  \/ /\ At(p, "push") /\ l[p].sent < Len(mine)
     /\ s' = [s EXCEPT !.bag[mine[l[p].sent + 1]] = @ + 1]
     /\ l' = [l EXCEPT ![p].pc = "sleepers?", ![p].sent = @ + 1]
  \/ /\ At(p, "sleepers?") /\ Keep
     /\ IF s.sleepers # {} THEN GoBack(p, "post", "push") ELSE Go(p, "push")

Helper(h) ==
  \/ /\ At(h, "help") /\ s' = [s EXCEPT !.helpers = @ - 1]
     /\ Go(h, IF Fault("helper_silent") THEN "end" ELSE "look")
  \/ /\ At(h, "look") /\ Keep /\ Look(h, "end")

\* ---- ws_search_leave: a worker is taken off once, by itself or by the guard
Leave(w, next) == s' = [s EXCEPT !.searching = IF s.state[w] = "relied" \/ Fault("leaves_twice") THEN @ - 1 ELSE @,
                                 !.state[w] = IF Fault("stays_starved") /\ @ = "starved" THEN @ ELSE next]

\* ---- ws_worker.c: find, run, join
Run(w) ==
  \/ /\ At(w, "find")
     /\ IF Visible
        THEN \E k \in Kinds : /\ s.bag[k] > 0 /\ s' = [s EXCEPT !.bag[k] = @ - 1]
                              /\ l' = [l EXCEPT ![w].task = k,
                                                ![w].pc = IF l[w].search = "no" THEN "run" ELSE "found"]
        ELSE Keep /\ \/ Go(w, IF l[w].search = "no" \/ Fault("late_decrement") THEN "announce" ELSE "leave")
                     \/ Searches /\ l[w].search = "no" /\ Go(w, "search")
  \/ /\ At(w, "search") /\ s' = [s EXCEPT !.searching = @ + 1, !.state[w] = "relied"]
     /\ l' = [l EXCEPT ![w].search = "self", ![w].pc = "find"]
  \* ws_search_found: wakes up to two if it was woken, up to one if it was the last, while tasks are more than
  \* those who search; what ws_decide() foresees is left open where some search
  \/ /\ At(w, "found") /\ Leave(w, "running")
     /\ LET wakes == CASE Fault("no_last_wake") -> 0 [] l[w].search = "woken" -> 2
                       [] s.searching = 1 /\ s.state[w] = "relied" -> 1 [] OTHER -> 0
        IN l' = [l EXCEPT ![w].search = "no", ![w].left = wakes,
                          ![w].pc = IF wakes > 0 THEN "last" ELSE "run"]
  \/ /\ At(w, "last") /\ Keep
     /\ IF l[w].left > 0 /\ s.sleepers # {}
        THEN l' = [l EXCEPT ![w].pc = "enough", ![w].seen = s.searching, ![w].left = @ - 1]
        ELSE l' = [l EXCEPT ![w].pc = "run", ![w].left = 0]
  \/ /\ At(w, "enough") /\ Keep
     /\ LET others == l[w].seen + (IF Fault("counts_itself") THEN 1 ELSE 0)
        IN \/ Queued > others /\ l' = [l EXCEPT ![w].pc = "wake_one", ![w].back = "last", ![w].seen = 0]
           \* the others are foreseen to take all; the last searcher does not rely on that
           \/ (others > 0 \/ Queued = 0) /\ l' = [l EXCEPT ![w].pc = "run", ![w].seen = 0, ![w].left = 0]
  \/ /\ At(w, "run")
     /\ IF l[w].task = "blocker"
        THEN IF Joins THEN s' = [s EXCEPT !.blocked = @ + 1]
                           /\ Go(w, IF Fault("block_silent") THEN "blocked" ELSE "block")
             ELSE Keep /\ Go(w, IF Moves /\ Visible THEN "move" ELSE "blocked")
        ELSE /\ s' = [s EXCEPT !.done = @ + 1, !.key = @ \/ l[w].task = "key"]
             /\ l' = [l EXCEPT ![w].pc = "find", ![w].task = "quick"]
  \/ /\ At(w, "block") /\ Keep /\ Look(w, "blocked")
  \/ /\ At(w, "blocked") /\ s.key /\ l' = [l EXCEPT ![w].pc = "find", ![w].task = "quick"]
     /\ s' = [s EXCEPT !.done = @ + 1, !.blocked = IF Joins THEN @ - 1 ELSE @]
  \/ /\ At(w, "move")
     /\ IF Visible THEN \E k \in Kinds : /\ s.bag[k] > 0 /\ s' = [s EXCEPT !.bag[k] = @ - 1]
                                         /\ l' = [l EXCEPT ![w].task = k, ![w].pc = "put"]
        ELSE Keep /\ Go(w, "blocked")
  \/ /\ At(w, "put") /\ s' = [s EXCEPT !.bag[l[w].task] = @ + 1]
     /\ l' = [l EXCEPT ![w].task = "blocker", ![w].pc = IF Fault("move_silent") THEN "blocked" ELSE "block"]

\* ---- ws_park. timed: the worker still has to leave searching, which is a fault
Park(w) ==
  \/ /\ At(w, "leave") /\ Leave(w, "parked")
     /\ Go(w, IF l[w].timed THEN "asleep" ELSE "announce")
  \/ /\ At(w, "announce")
     /\ s' = [s EXCEPT !.sleepers = @ \cup {w}, !.state[w] = IF @ = "running" THEN "parked" ELSE @]
     /\ \E alarm \in IF Timers THEN BOOLEAN ELSE {FALSE} :
          l' = [l EXCEPT ![w].search = "self", ![w].timed = l[w].search # "no" /\ Fault("late_decrement"),
                         ![w].alarm = alarm, ![w].pc = "recheck"]
  \/ /\ At(w, "recheck") /\ Keep
     /\ Go(w, IF Visible /\ ~Fault("no_recheck") THEN "retract" ELSE IF l[w].timed THEN "leave" ELSE "asleep")
  \/ /\ At(w, "retract")
     /\ IF w \in s.sleepers
        THEN s' = [s EXCEPT !.sleepers = @ \ {w}] /\ Go(w, "recount")
        ELSE Keep /\ Go(w, IF l[w].timed THEN "leave" ELSE "asleep")
  \/ /\ At(w, "recount")
     /\ s' = [s EXCEPT !.searching = IF l[w].timed THEN @ ELSE @ + 1, !.state[w] = "relied"]
     /\ l' = [l EXCEPT ![w].pc = "find", ![w].alarm = FALSE]
  \/ /\ At(w, "asleep") /\ s.token[w] = 1 /\ s' = [s EXCEPT !.token[w] = 0]
     /\ l' = [l EXCEPT ![w].pc = "find", ![w].search = "woken", ![w].alarm = FALSE]
  \* its own timer is over: if its bit is gone, a token will come
  \/ /\ At(w, "rise")
     /\ IF w \in s.sleepers \/ Fault("rise_blind")
        THEN /\ s' = [s EXCEPT !.sleepers = IF Fault("rise_marked") THEN @ ELSE @ \ {w}]
             /\ Go(w, "recount")
        ELSE Keep /\ Go(w, "asleep")
\* The timer of a sleep, once. No fairness: nothing may depend on it.
Timer(w) ==
  /\ At(w, "asleep") /\ l[w].alarm /\ Keep
  /\ l' = [l EXCEPT ![w].alarm = FALSE, ![w].pc = IF Working < Limit THEN "rise" ELSE "asleep"]

\* ---- ws_guard.c. The guard tells blocked workers from busy ones without error here: in the end it does.
Hidden == IF Joins THEN 0 ELSE Cardinality({w \in W \ s.sleepers : At(w, "blocked") /\ ~s.key})
\* What a worker without a CPU does not do. A worker that holds a task, or must wake another, gets a CPU.
Idle(w) == l[w].pc \in {"find", "search", "leave", "announce", "recheck", "retract", "recount", "asleep", "rise"}
Stuck == {w \in Starving : Idle(w) /\ s.state[w] = "relied"}
Mistaken == IF Suspects THEN SUBSET {w \in W : s.state[w] = "relied"} ELSE {{}}
\* Awake, in none of the pool's counts, and without a CPU: the guard sees it at each look.
Away == Cardinality({w \in Starving \ s.sleepers : Idle(w) /\ s.state[w] \in {"running", "parked"}})
Guard(g) ==
  \/ At(g, "rest") /\ s.guard = "standing" /\ Go(g, "watch") /\ Keep
  \/ /\ At(g, "watch") /\ Visible /\ Go(g, "wake")
     /\ \E wrong \in Mistaken :
          LET off == IF Fault("no_take_off") THEN {} ELSE Stuck \cup wrong
          IN s' = [s EXCEPT !.searching = @ - Cardinality(off),
                            !.state = [w \in W |-> IF w \in off THEN "starved" ELSE @[w]]]
  \/ /\ At(g, "wake") \* also while a worker searches
     /\ LET hidden == Min(Hidden, Working)
            lift == s.lifted \/ (hidden > 0 /\ hidden = Working)
            limit == IF lift THEN N ELSE Limit
            at_work == Working - Min(Working, hidden + Away)
            room == IF at_work < limit THEN limit - at_work ELSE 0
        IN /\ s' = [s EXCEPT !.lifted = lift]
           /\ l' = [l EXCEPT ![g].pc = "more", ![g].left = Min(room, Queued)]
  \/ /\ At(g, "watch") /\ (~Visible \/ (s.searching > 0 /\ Stuck = {})) \* a searcher will look by itself
     /\ s' = [s EXCEPT !.lifted = @ /\ (Hidden > 0 \/ Fault("stays_lifted"))]
     /\ Go(g, IF ~Visible THEN "become_dormant" ELSE "rest")
  \/ /\ At(g, "more") /\ Keep
     /\ IF l[g].left > 0 THEN l' = [l EXCEPT ![g].pc = "claim", ![g].back = "more", ![g].left = @ - 1]
        ELSE Go(g, "rest")
  \/ /\ At(g, "become_dormant")
     /\ s' = [s EXCEPT !.guard = "dormant", !.lifted = @ /\ Fault("stays_lifted")]
     /\ Go(g, IF Fault("dormant_blind") THEN "rest" ELSE "last_look")
  \/ /\ At(g, "last_look") /\ Go(g, "rest")
     /\ s' = [s EXCEPT !.guard = IF Visible THEN "standing" ELSE @]

Worker(w) == Run(w) \/ Park(w) \/ WakeOne(w)
Outside(x) == WakeOne(x) \/ (x \in P /\ Producer(x)) \/ (x \in H /\ Helper(x)) \/ (x \in G /\ Guard(x))
Next == (\E w \in W : Worker(w) \/ Timer(w)) \/ (\E x \in P \cup H \cup G : Outside(x))
Spec == Init /\ [][Next]_vars /\ (\A w \in W \ Starving : WF_vars(Worker(w)))
             /\ (\A w \in Starving : WF_vars(~Idle(w) /\ Worker(w)))
             /\ (\A x \in P \cup H \cup G : WF_vars(Outside(x)))

\* ---- what must hold
TokenOnce == \A w \in W : s.token[w] = 1 => w \notin s.sleepers
Finish == <>(s.done = Total)
\* searching counts the workers whose state is "relied", which search, so none is taken off twice.
Counted == s.searching = Cardinality({w \in W : s.state[w] = "relied"})
Parked == {w \in s.sleepers : l[w].pc \in {"asleep", "rise"} /\ s.token[w] = 0}
\* A thread that will look at the queues before it sleeps, blocks or runs a task; or a wake under way.
OnTheWay ==
  \/ \E w \in W : \/ l[w].pc \in {"find", "search", "found", "last", "enough", "announce", "leave",
                                  "recheck", "retract", "recount", "block", "move", "put"}
                  \/ s.token[w] = 1
  \/ \E x \in DOMAIN l : l[x].pc \in {"sleepers?", "post", "call", "searching?", "wake_one", "claim", "count",
                                      "give", "look"}
  \/ \E g \in G : l[g].pc = "wake" \/ (l[g].pc = "more" /\ l[g].left > 0) \* it has seen the tasks
\* Tasks wait, a worker is parked and may be awake: a worker is about to search. When the guard has just
\* lifted the cap, which pushes could not know, it is the guard.
FullUse == Visible /\ Parked # {} /\ Working < Limit
             => OnTheWay \/ (s.lifted /\ s.guard = "standing")
\* Tasks wait while a worker sleeps: the guard stands, is being called, or is not needed yet.
GuardCovers == Guarded /\ Visible /\ Parked # {}
                 => OnTheWay \/ s.guard = "standing" \/ \E x \in DOMAIN l : l[x].pc \in {"call", "last_look"}
\* The tables of sleep/ws_sleep_state.h (ci/lint_states.py compares them).
WorkerChanges == {<<"running", "relied">>, <<"running", "parked">>, <<"relied", "running">>, <<"relied", "parked">>,
                  <<"relied", "starved">>, <<"starved", "running">>, <<"starved", "parked">>, <<"parked", "relied">>}
GuardChanges == {<<"dormant", "standing">>, <<"standing", "dormant">>}
Changes == [][/\ \A w \in W : s'.state[w] # s.state[w] => <<s.state[w], s'.state[w]>> \in WorkerChanges
              /\ s'.guard # s.guard => <<s.guard, s'.guard>> \in GuardChanges]_vars
\* A guard that has lain down leaves no lifted cap behind.
CapReturns == s.lifted => s.guard = "standing"
=============================================================================
