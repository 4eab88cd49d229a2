import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parsePlan, type SitePlan } from './site.plan.js';
import { planSite } from './site.planner.js';

interface Wanted {
  readonly request: string;
  /** `label:type`, a star when required. */
  readonly fields: readonly string[];
  /** `kind` or `kind:field`. */
  readonly actions: readonly string[];
  readonly unsupported?: readonly RegExp[];
}

const REQUESTS: readonly Wanted[] = [
  {
    request: 'a guest book with name, email and message, visitors can delete their entries',
    fields: ['Name:text*', 'Email:email*', 'Message:textarea*'],
    actions: ['create', 'delete', 'list'],
  },
  {
    request: 'todo list with priority (low, medium, high), due date and done checkbox; filter by priority',
    fields: ['Priority:select*', 'Due date:date*', 'Done:checkbox'],
    actions: ['create', 'filter:priority', 'list', 'edit', 'delete'],
  },
  {
    request:
      'Build me a page where customers can book a table: they enter their name, phone number, number of guests, date and time, and optionally special requests. Staff can cancel bookings. Send a confirmation email.',
    fields: [
      'Name:text*',
      'Phone number:tel*',
      'Number of guests:number*',
      'Date and time:datetime-local*',
      'Special requests:textarea',
    ],
    actions: ['create', 'delete', 'list'],
    unsupported: [/confirmation email/],
  },
  {
    request:
      'I need an expense tracker that records the amount, category (food, travel, rent or other), date and a note. Show the total amount and let me sort by date and export to CSV. Pay with credit card.',
    fields: ['Amount:number*', 'Category:select*', 'Date:date*', 'Note:textarea'],
    actions: ['create', 'sum:amount', 'sort:date', 'export', 'list', 'edit', 'delete'],
    unsupported: [/Pay with credit card/],
  },
  {
    request:
      'Volunteer sign-up sheet:\n- Full name (required)\n- Email\n- Shift: morning, afternoon, evening\n- Age (at least 18)\n- Notes (optional)\nVolunteers can sign up, and organizers can see the list and remove people.',
    fields: ['Full name:text*', 'Email:email*', 'Shift:select*', 'Age:number*', 'Notes:textarea'],
    actions: ['create', 'list', 'delete'],
  },
  {
    request:
      'Library of books: title, author, whether it is available. Users can borrow and return books. Login with Google.',
    fields: ['Title:text*', 'Author:text*', 'Available:checkbox', 'Borrowed:checkbox'],
    actions: ['create', 'set:borrowed', 'set:borrowed', 'list', 'edit', 'delete'],
    unsupported: [/Login with Google/],
  },
  {
    request:
      'Customer support tickets. A ticket has a subject, a priority of low, normal or urgent, and a status that can be open, pending or closed. Agents can change tickets and filter by status or priority.',
    fields: ['Subject:text*', 'Priority:select*', 'Status:select*'],
    actions: ['create', 'edit', 'filter:status', 'filter:priority', 'list'],
  },
  {
    request:
      'Create a potluck sign-up page. Guests provide their name, the dish they will bring, the number of servings and whether the dish is vegetarian. Guests can remove their entry.',
    fields: ['Name:text*', 'Dish:text*', 'Number of servings:number*', 'Vegetarian:checkbox'],
    actions: ['create', 'delete', 'list'],
  },
  {
    request:
      'For every plant I want to note its name, how often it should be watered (in days), the date it was last watered and any notes. I should be able to add, edit and delete plants and search by name.',
    fields: [
      'Name:text*',
      'How often it should be watered:number*',
      'Date it was last watered:date*',
      'Notes:textarea',
    ],
    actions: ['create', 'edit', 'delete', 'search', 'list'],
  },
  {
    request:
      'Please create a carpool sign up where drivers list departure city, departure date, free seats (1 to 6) and phone. Riders can search by city. Include a map.',
    fields: ['Departure city:text*', 'Departure date:date*', 'Free seats:number*', 'Phone:tel*'],
    actions: ['create', 'search', 'list'],
    unsupported: [/a map/],
  },
  {
    request:
      'I want to log blood pressure: systolic, pulse, measured at (date and time), paid or unpaid. Values must be between 30 and 250. Show average.',
    fields: ['Systolic:number*', 'Pulse:number*', 'Measured at:datetime-local*', 'Paid:checkbox'],
    actions: ['create', 'average:systolic', 'average:pulse', 'list'],
  },
  {
    request:
      '我想记录每天的饮水量，包括日期、饮水量（毫升）、饮品类型，要能看到平均饮水量，可以修改和删除，还想要手机推送提醒我喝水',
    fields: ['日期:date*', '饮水量:number*', '饮品类型:text*'],
    actions: ['create', 'average:饮水量', 'edit', 'delete', 'list'],
    unsupported: [/手机推送提醒我喝水/],
  },
  {
    request: '做一个包含标题、正文、作者的公告栏，能发布、编辑、删除公告，最新的公告显示在最前面',
    fields: ['标题:text*', '正文:textarea*', '作者:text*'],
    actions: ['create', 'edit', 'delete', 'sort', 'list'],
  },
  {
    request: '做一个报名表，包含姓名、手机号、邮箱、年龄，可以提交和查看列表',
    fields: ['姓名:text*', '手机号:tel*', '邮箱:email*', '年龄:number*'],
    actions: ['create', 'list'],
  },
  {
    request:
      '帮我做一个待办事项页面，每个任务有标题、优先级（高、中、低）、截止日期、备注（选填），可以标记完成、删除，按优先级筛选，用微信登录',
    fields: ['标题:text*', '优先级:select*', '截止日期:date*', '备注:textarea', '已完成:checkbox'],
    actions: ['create', 'toggle:已完成', 'delete', 'filter:优先级', 'list', 'edit'],
    unsupported: [/微信登录/],
  },
  {
    request: '請建立一個學生成績管理頁：學號、姓名、分數（0到100），可以新增、刪除，按分數排序',
    fields: ['學號:text*', '姓名:text*', '分數:number*'],
    actions: ['create', 'delete', 'sort:分數', 'list', 'edit'],
  },
  {
    request: '活动投票页面，大家可以提交活动提案（标题、说明、参与人数），其他人可以投票，按票数排序，管理员才能删除',
    fields: ['标题:text*', '说明:textarea*', '参与人数:number*'],
    actions: ['create', 'vote', 'sort', 'list'],
    unsupported: [/管理员才能删除/],
  },
];

function fieldsOf(plan: SitePlan): string[] {
  return plan.fields.map(({ label, type, required }) => `${label}:${type}${required ? '*' : ''}`);
}

function actionsOf(plan: SitePlan): string[] {
  return plan.actions.map(({ kind, field }) => (field === undefined ? kind : `${kind}:${field}`));
}

describe('planning a site by rule', () => {
  it.each(REQUESTS)('finds the fields and actions of: $request', ({ request, fields, actions, unsupported = [] }) => {
    const plan = planSite(request);
    expect(fieldsOf(plan)).toEqual(fields);
    expect([...actionsOf(plan)].sort()).toEqual([...actions].sort());
    expect(plan.unsupported).toHaveLength(unsupported.length);
    for (const pattern of unsupported) expect(plan.unsupported.join('\n')).toMatch(pattern);
  });

  it('reads choices, bounds, lengths and uniqueness', () => {
    const plan = planSite(
      'a survey with email (unique), rating from 1 to 10, comment of up to 300 characters, phone (11 digits), size S/M/L and hobbies (multiple choice: sports, music, reading)',
    );
    const rules = Object.fromEntries(plan.fields.map(({ name, ...rules }) => [name, rules]));
    expect(rules).toMatchObject({
      email: { unique: true },
      rating: { type: 'number', min: 1, max: 10, integer: true },
      comment: { maxLength: 300 },
      phone: { type: 'tel', minLength: 11, maxLength: 11 },
      size: { type: 'select', options: ['S', 'M', 'L'] },
      hobbies: { type: 'multiselect', options: ['sports', 'music', 'reading'] },
    });
  });

  it('reads "one per …" as unique, and "may leave" as optional', () => {
    const english = planSite('A petition: name, email and may leave a comment. One signature per email. CSV export.');
    expect(english.fields).toMatchObject([{ name: 'name' }, { unique: true }, { name: 'comment', required: false }]);
    expect(actionsOf(english)).toContain('export');
    expect(planSite('报名表：姓名、联系电话，每个电话只能报名一次').fields[1]).toMatchObject({ unique: true });
  });

  it('reads the same rules in Chinese', () => {
    const plan = planSite(
      '问卷：邮箱不能重复、评分1-10分、建议（选填，300字以内）、手机号（11位）、尺码（S/M/L）、爱好（多选：阅读、音乐）',
    );
    const rules = Object.fromEntries(plan.fields.map(({ name, ...rules }) => [name, rules]));
    expect(rules).toMatchObject({
      邮箱: { unique: true },
      评分: { type: 'number', min: 1, max: 10 },
      建议: { maxLength: 300, required: false },
      手机号: { minLength: 11, maxLength: 11 },
      尺码: { options: ['S', 'M', 'L'] },
      爱好: { type: 'multiselect', options: ['阅读', '音乐'] },
    });
  });

  it('assumes usual fields when none are named, and says so', () => {
    const plan = planSite('Make me a guest book');
    expect(fieldsOf(plan)).toEqual(['Name:text*', 'Message:textarea*']);
    expect(plan.notes.join()).toContain('assumed');
  });

  it('does not report what the request says it does not want', () => {
    expect(planSite('A guest book, no login needed: name, message').unsupported).toEqual([]);
    expect(planSite('做一个不需要登录的留言板，昵称、内容').unsupported).toEqual([]);
  });

  it('leaves out what must not be possible', () => {
    expect(actionsOf(planSite('Manage invoices with number and amount. Invoices cannot be deleted.'))).not.toContain(
      'delete',
    );
    expect(actionsOf(planSite('库存管理，包括名称、数量，提交后不能修改'))).not.toContain('edit');
  });

  it('plans validly whatever is asked', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 400 }),
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc
        .array(
          fc.constantFrom(
            'with',
            'name',
            ',',
            'and',
            '(',
            ')',
            'can',
            'delete',
            'filter by',
            '姓名',
            '、',
            '包含',
            '按',
            '筛选',
            '1-5',
            '__proto__',
            'mark as',
            '标记为',
          ),
          { maxLength: 60 },
        )
        .map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(text, (request) => !('problem' in parsePlan(planSite(request)))),
      { numRuns: 300 },
    );
  });

  it.each(Object.getOwnPropertyNames(Object.prototype))('takes %s for a word like any other', (word) => {
    for (const request of [`a form with name (${word})`, `with ( ${word} ) can`, `包含姓名（${word}）的表单`]) {
      expect(parsePlan(planSite(request))).not.toHaveProperty('problem');
    }
  });

  it('reads a long request in time that grows with its length only', () => {
    for (const piece of ['a, ', 'with name (', 'can add ', '1-2 ', 'priority low, ', 'a: ', '每个有', '（姓名']) {
      const started = performance.now();
      planSite(piece.repeat(3000));
      expect(performance.now() - started).toBeLessThan(2000);
    }
  });
});
