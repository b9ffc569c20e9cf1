// What the server says of lessons.
interface LessonLine {
  name: string;
  number: number;
  title: string;
  minutes: number;
}
interface LessonAnswer extends LessonLine {
  count: number;
  question: { text: string; answers: string[] };
  sections: Record<'predict' | 'run' | 'see' | 'try', string>;
  worksheet: { question: string; answer: string }[];
  kind: 'measure' | 'record' | 'experiment';
  see: LessonPlot | null;
  terminal: string;
  tries: { label: string; terminal: string }[];
  sources: { file: string; path: string; text: string; lit: number[] }[];
  pitfalls: { name: string; title: string }[];
  terms: { term: string; id: string; text: string }[];
  shipped: LessonRunAnswer[];
  previous: LessonLine | null;
  next: LessonLine | null;
}
interface GlossaryTerm {
  term: string;
  id: string;
  text: string;
  lessons: LessonLine[];
}
/** What a run does now; the share that is done, or null if nobody knows. */
interface LessonProgress {
  doing: string;
  fraction: number | null;
}
interface LessonPlot {
  kind: string;
  figures?: string[];
  labels?: Record<string, string>;
  unit?: string;
  scale?: 'linear' | 'log';
  theatre?: { mechanism: string; moment: { call: string; line?: string }; text: string };
}
/** The system calls of one message. */
interface LessonMoment {
  name: string;
  omitted: number;
  calls: {
    process: string;
    helper: boolean;
    name: string;
    args: string;
    result: string;
    sleeps: boolean;
    source: { file: string; line: number; why?: string } | null;
  }[];
}
type LessonFigures = Record<string, { value: number; unit: string }>;
interface LessonRunAnswer {
  origin: 'here' | 'shipped';
  try: number | null;
  recordedAt: string;
  environment: { cpu: string; cores: number; architecture: string; kernel: string; virtualization: string };
  terminal: string;
  figures: LessonFigures;
  moments: LessonMoment[];
  output: string[];
  /** null: an experiment, which is not confined */
  confinement: { namespaces: string | null; refused: string | null } | null;
  recording: { trace: any; event: number; origin: 'here' | 'shipped'; beside: boolean } | null;
  notRecorded: string | null;
  /** why the program hangs, if it is meant to */
  hang: string | null;
  seconds: number;
  trouble: string | null;
  right: number | null;
  why: string | null;
  note: string | null;
}
